"""Telling a broker what is done with: everything once, and nothing that is not."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from postroom.broker.acks import Acks, Answer


class Conversation(RuleBasedStateMachine):
    """Messages are delivered, finished in any order, rejected now and then; a broker keeps the books."""

    def __init__(self) -> None:
        super().__init__()
        self.acks = Acks()
        self.last = 0
        self.in_hand: list[int] = []
        """Delivered, and neither done with nor rejected."""
        self.done: set[int] = set()
        """Done with, and the broker does not know."""
        self.unanswered: set[int] = set()
        """What the broker waits for."""

    @rule(count=st.integers(1, 5))
    def deliver(self, count: int) -> None:
        for _ in range(count):
            self.last += 1
            self.acks.deliver(self.last)
            self.in_hand.append(self.last)
            self.unanswered.add(self.last)

    @precondition(lambda self: self.in_hand)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        tag = data.draw(st.sampled_from(self.in_hand))
        self.in_hand.remove(tag)
        self.done.add(tag)
        self.acks.done(tag)

    @precondition(lambda self: self.in_hand)
    @rule(data=st.data())
    def reject(self, data: st.DataObject) -> None:
        tag = data.draw(st.sampled_from(self.in_hand))
        self.in_hand.remove(tag)
        self.unanswered.remove(tag)
        self.acks.answered(tag)

    @rule()
    def tell(self) -> None:
        answer = self.acks.answer()
        told = [] if answer is None else self.as_a_broker_takes_it(answer)

        assert sorted(told) == sorted(self.done), "everything that is done with is told, each once, and nothing else"
        self.done.clear()
        assert self.acks.answer() is None, "what is told once is not told again"

    def as_a_broker_takes_it(self, answer: Answer) -> list[int]:
        """RabbitMQ closes the channel when it is told of a message that it does not wait for."""
        told = []
        if answer.up_to is not None:
            assert answer.up_to in self.unanswered
            told = [tag for tag in self.unanswered if tag <= answer.up_to]
        self.unanswered -= set(told)
        for tag in answer.single:
            assert tag in self.unanswered
            self.unanswered.remove(tag)
            told.append(tag)
        assert not set(told) & set(self.in_hand), "a message in hand is never covered"
        return told

    @invariant()
    def the_count_is_what_the_broker_waits_for(self) -> None:
        assert len(self.acks) == len(self.unanswered)


def test_everything_done_is_acknowledged_once_and_nothing_else_is() -> None:
    run_state_machine_as_test(Conversation)

    assert Acks().answer() is None


def test_messages_finished_in_order_take_one_word() -> None:
    acks = Acks()
    for tag in range(1, 101):
        acks.deliver(tag)
    for tag in range(1, 101):
        acks.done(tag)

    assert acks.answer() == Answer(100, ())


def test_one_that_is_slow_holds_up_nobodys_answer() -> None:
    acks = Acks()
    for tag in range(1, 6):
        acks.deliver(tag)
    for tag in (1, 3, 4):
        acks.done(tag)

    assert acks.answer() == Answer(1, (3, 4))
    acks.done(2)
    assert acks.answer() == Answer(2, ())
    acks.done(5)
    assert acks.answer() == Answer(5, ())

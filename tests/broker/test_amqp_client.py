"""One connection to a broker that says what a test tells it to: everything that may go wrong."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from pamqp import commands

from postroom.broker.amqp.address import address
from postroom.broker.amqp.client import AmqpError, Client, NotSignedIn, QueueGone, Refused, connect
from postroom.broker.amqp.wire import Posting
from postroom.broker.meter import Fate
from tests.broker.scripted_broker import HANG_UP, ScriptedBroker, Word, opened, returned

CONFIRMED, RETURNED, REFUSED, UNCONFIRMED = Fate.CONFIRMED, Fate.RETURNED, Fate.REFUSED, Fate.UNCONFIRMED
LETTERS = [Posting("queue", f"letter:{number}", b"Good morning.") for number in (1, 2, 3)]
A_DAY = 86_400.0
"""As good as for ever: whoever waits so long fails."""
AN_INSTANT = 0.02

DECLARE = commands.Queue.Declare(queue="queue", passive=True)
ACK, NACK = commands.Basic.Ack, commands.Basic.Nack


@pytest.fixture
async def broker() -> AsyncIterator[ScriptedBroker]:
    async with ScriptedBroker() as broker:
        yield broker


@pytest.fixture
def losses() -> list[Exception]:
    """What the client's owner was told."""
    return []


@pytest.fixture
async def client(broker: ScriptedBroker, losses: list[Exception]) -> AsyncIterator[Client]:
    async with opened(broker.url, losses) as client:
        yield client


# ---------------------------------------------------------------- signing in

STEPS = ("ProtocolHeader", "Connection.StartOk", "Connection.TuneOk", "Connection.Open")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("code", "text", "error"),
    [
        (403, "ACCESS_REFUSED - Login was refused", NotSignedIn),
        (530, "NOT_ALLOWED - vhost post not found", Refused),
        (320, "CONNECTION_FORCED - broker shuts down", Refused),
    ],
)
async def test_a_broker_that_sends_us_away_is_heard_at_every_step(
    broker: ScriptedBroker, step: str, code: int, text: str, error: type[Refused]
) -> None:
    broker.when(step, commands.Connection.Close(code, text, 0, 0))
    with pytest.raises(Refused) as refusal:
        await connect(address(broker.url))
    await broker.gone.wait()

    assert type(refusal.value) is error
    assert (refusal.value.code, str(refusal.value)) == (code, text)
    assert broker.heard[-1] == "Connection.CloseOk"


@pytest.mark.parametrize("step", STEPS)
async def test_a_broker_that_hangs_up_while_we_sign_in_is_an_error(broker: ScriptedBroker, step: str) -> None:
    broker.when(step, HANG_UP)
    with pytest.raises((AmqpError, OSError)):
        await connect(address(broker.url))
    await broker.gone.wait()

    assert "Channel.Open" not in broker.heard


@pytest.mark.parametrize(
    ("step", "word", "said"),
    [
        ("ProtocolHeader", b"AMQP\x00\x01\x00\x00", "another version"),
        ("ProtocolHeader", b"HTTP/1.1 400 Bad Request\r\n\r\n", "cannot be understood"),
        ("ProtocolHeader", commands.Connection.Tune(), "began with Connection.Tune"),
        (
            "Connection.StartOk",
            commands.Connection.Secure("a riddle"),
            "answered Connection.StartOk with Connection.Secure",
        ),
        ("Connection.StartOk", commands.Connection.OpenOk(), "answered Connection.StartOk with Connection.OpenOk"),
        ("Connection.Open", commands.Connection.CloseOk(), "answered Connection.Open with Connection.CloseOk"),
    ],
)
async def test_a_broker_that_says_something_else_is_an_error_in_words(
    broker: ScriptedBroker, step: str, word: Word, said: str
) -> None:
    broker.when(step, word)
    with pytest.raises(AmqpError, match=said):
        await connect(address(broker.url))
    await broker.gone.wait()


async def test_signing_in_that_is_called_off_leaves_no_connection(broker: ScriptedBroker) -> None:
    broker.when("Connection.Open")
    signing_in = asyncio.create_task(connect(address(broker.url)))
    await broker.hears("Connection.Open")
    signing_in.cancel()
    await broker.gone.wait()

    with pytest.raises(asyncio.CancelledError):
        await signing_in


async def test_nobody_at_home_is_an_error_of_the_sockets() -> None:
    async with ScriptedBroker() as broker:
        url = broker.url

    with pytest.raises(ConnectionRefusedError):
        await connect(address(url))


async def test_over_tls_everything_is_the_same_and_strangers_are_not_trusted(
    losses: list[Exception], tmp_path: Path
) -> None:
    authority, trusted = trustme.CA(), tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(trusted))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    async with ScriptedBroker(context) as broker:
        broker.confirming = True
        async with opened(f"{broker.url}?cafile={trusted}", losses) as client:
            fates = await client.publish(LETTERS, patience=A_DAY)
            await client.close()
            await broker.gone.wait()
        with pytest.raises(ssl.SSLCertVerificationError):
            await connect(address(broker.url))

    assert fates == [CONFIRMED] * 3
    assert losses == []


# ---------------------------------------------------------------- signs of life


async def test_a_silent_broker_is_missed(broker: ScriptedBroker) -> None:
    missed: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
    async with opened(f"{broker.url}?heartbeat=1") as client:
        client.lost = missed.set_result
        error = await missed
        await broker.gone.wait()

    assert "no sign of life" in str(error)


async def test_whatever_comes_is_a_sign_of_life_and_we_give_some_ourselves(
    broker: ScriptedBroker, client: Client, losses: list[Exception]
) -> None:
    """As if nothing had come for long, and then an answer; and as if we had had nothing to say for two beats."""
    client._heard -= 1_000
    await client.call(DECLARE)
    client._keep_alive()
    client._keep_alive()
    await broker.hears("Heartbeat")

    assert losses == []
    assert broker.heard.count("Heartbeat") == 1


# ---------------------------------------------------------------- loss

FORCED = commands.Connection.Close(320, "CONNECTION_FORCED", 0, 0)
MISSING = commands.Channel.Close(404, "NOT_FOUND - no queue", 50, 10)
DELETED = commands.Basic.Cancel("postroom-1")
GARBAGE = b"220 mail.example.org ESMTP\r\n"

LOSSES: dict[str, tuple[tuple[Word, ...], type[Exception], str]] = {
    "the connection is closed": ((FORCED,), Refused, "CONNECTION_FORCED"),
    "our user is deleted": ((commands.Connection.Close(403, "ACCESS_REFUSED", 0, 0),), Refused, "ACCESS_REFUSED"),
    "the channel is closed": ((MISSING,), Refused, "NOT_FOUND"),
    "a queue is deleted": ((DELETED,), QueueGone, "a queue was deleted"),
    "garbage arrives": ((GARBAGE,), AmqpError, "cannot be understood"),
    "the broker hangs up": ((HANG_UP,), AmqpError, "closed the connection"),
    "two queues are deleted": ((DELETED, DELETED), QueueGone, "a queue was deleted"),
    "the channel is closed, then the connection": ((MISSING, FORCED), Refused, "NOT_FOUND"),
    "the connection is closed, then the channel": ((FORCED, MISSING), Refused, "CONNECTION_FORCED"),
}


@pytest.mark.parametrize(("words", "error", "said"), LOSSES.values(), ids=LOSSES.keys())
async def test_a_loss_is_told_once_and_ends_a_batch_and_a_call_at_once(
    broker: ScriptedBroker, client: Client, losses: list[Exception], words: tuple[Word, ...], error: Any, said: str
) -> None:
    """Not by the end of anybody's patience: that is a day."""
    broker.when("Queue.Declare")
    publishing = asyncio.create_task(client.publish(LETTERS, patience=A_DAY))
    asking = asyncio.create_task(client.call(DECLARE))
    await broker.hears("ContentBody", len(LETTERS))
    await broker.hears("Queue.Declare")
    broker.say(ACK(2), *words)
    fates = await publishing
    with pytest.raises(error, match=said):
        await asking
    if set(words) - {MISSING, DELETED}:  # the connection is lost too
        await broker.gone.wait()

    assert fates[0] is fates[2] is UNCONFIRMED
    assert [type(each) for each in losses] == [error]
    assert said in str(losses[0])
    assert await client.publish(LETTERS, patience=A_DAY) == [UNCONFIRMED] * 3
    with pytest.raises(AmqpError):
        await client.call(DECLARE)


async def test_a_refused_channel_is_opened_again_on_the_same_connection(broker: ScriptedBroker, client: Client) -> None:
    """The broker then counts messages from one again."""
    await client.publish(LETTERS[1:], patience=AN_INSTANT)
    broker.when("Queue.Declare", MISSING)
    with pytest.raises(Refused, match="NOT_FOUND") as refusal:
        await client.call(DECLARE)
    broker.when("Queue.Declare", commands.Queue.DeclareOk("queue", 7, 0))
    await client.open_channel()
    publishing = asyncio.create_task(client.publish(LETTERS[:1], patience=A_DAY))
    await broker.hears("ContentBody", 3)
    broker.say(ACK(1))
    answer = await client.call(DECLARE)

    assert refusal.value.code == 404
    assert dict(answer)["message_count"] == 7
    assert await publishing == [CONFIRMED]
    assert broker.heard.count("Channel.CloseOk") == broker.connections == 1


async def test_a_call_that_is_called_off_ends_the_connection(
    broker: ScriptedBroker, client: Client, losses: list[Exception]
) -> None:
    """Else its answer would be taken for the next one's."""
    broker.when("Queue.Declare")
    asking = asyncio.create_task(client.call(DECLARE))
    await broker.hears("Queue.Declare")
    asking.cancel()
    await broker.gone.wait()
    with pytest.raises(asyncio.CancelledError):
        await asking

    with pytest.raises(AmqpError, match="did not answer"):
        await client.call(DECLARE)
    assert len(losses) == 1


async def test_a_call_that_waits_for_its_turn_may_be_called_off(broker: ScriptedBroker, client: Client) -> None:
    """Nobody was asked anything yet."""
    broker.when("Queue.Declare")
    first = asyncio.create_task(client.call(DECLARE))
    second = asyncio.create_task(client.call(DECLARE))
    await broker.hears("Queue.Declare")
    second.cancel()
    await asyncio.wait([second])
    broker.say(commands.Queue.DeclareOk("queue", 7, 0))

    assert dict(await first)["message_count"] == 7
    assert second.cancelled()
    assert broker.heard.count("Queue.Declare") == 1


async def test_a_broker_that_answers_another_question_is_left(
    broker: ScriptedBroker, client: Client, losses: list[Exception]
) -> None:
    broker.when("Queue.Declare", commands.Queue.BindOk())
    with pytest.raises(AmqpError, match=r"answered Queue\.Declare with Queue\.BindOk"):
        await client.call(DECLARE)
    await broker.gone.wait()

    assert len(losses) == 1


async def test_nobody_is_told_of_a_connection_that_we_close(
    broker: ScriptedBroker, client: Client, losses: list[Exception]
) -> None:
    await client.close()
    await broker.gone.wait()

    assert broker.heard[-1] == "Connection.Close"
    assert losses == []


async def test_a_broker_that_does_not_say_goodbye_is_left_when_the_caller_has_waited_enough(
    broker: ScriptedBroker, client: Client, losses: list[Exception]
) -> None:
    broker.when("Connection.Close")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(AN_INSTANT):
            await client.close()
    await broker.gone.wait()

    assert losses == []


async def test_a_connection_is_closed_also_behind_a_question_without_an_answer(
    broker: ScriptedBroker, client: Client
) -> None:
    broker.when("Queue.Declare")
    asking = asyncio.create_task(client.call(DECLARE))
    await broker.hears("Queue.Declare")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(AN_INSTANT):
            await client.close()
    await broker.gone.wait()

    with pytest.raises(AmqpError, match="we hung up"):
        await asking


# ---------------------------------------------------------------- fates

WORDS: dict[str, tuple[tuple[Word, ...], list[Fate]]] = {
    "one by one": ((ACK(1), ACK(2), ACK(3)), [CONFIRMED] * 3),
    "in another order": ((ACK(3), ACK(1), ACK(2)), [CONFIRMED] * 3),
    "all at once": ((ACK(3, True),), [CONFIRMED] * 3),
    "some, and then the rest": ((ACK(2), ACK(3, True)), [CONFIRMED] * 3),
    "twice": ((ACK(1), ACK(1), ACK(1, True), ACK(3, True)), [CONFIRMED] * 3),
    "more than there are": ((ACK(2**62), ACK(2**62, True)), [CONFIRMED] * 3),
    "one is refused": ((ACK(1), NACK(2, False, False), ACK(3)), [CONFIRMED, REFUSED, CONFIRMED]),
    "all are refused": ((NACK(3, True, False),), [REFUSED] * 3),
    "one comes back": ((*returned("letter:2"), ACK(3, True)), [CONFIRMED, RETURNED, CONFIRMED]),
    "an empty one comes back": ((*returned("letter:1", b"")[:2], ACK(3, True)), [RETURNED, CONFIRMED, CONFIRMED]),
    "a stranger comes back": ((*returned("letter:9"), *returned(""), ACK(3, True)), [CONFIRMED] * 3),
    "all come back": ((*[w for n in (1, 2, 3) for w in returned(f"letter:{n}")], ACK(3, True)), [RETURNED] * 3),
}


@pytest.mark.parametrize(("words", "fates"), WORDS.values(), ids=WORDS.keys())
async def test_each_message_has_the_fate_that_the_broker_tells(
    broker: ScriptedBroker, client: Client, words: tuple[Word, ...], fates: list[Fate]
) -> None:
    publishing = asyncio.create_task(client.publish(LETTERS, patience=A_DAY))
    await broker.hears("ContentBody", len(LETTERS))
    broker.say(*words)

    assert await publishing == fates
    assert (await client.call(DECLARE)).name == "Queue.DeclareOk"


async def test_one_word_may_be_about_two_batches(broker: ScriptedBroker, client: Client) -> None:
    first = asyncio.create_task(client.publish(LETTERS[:2], patience=A_DAY))
    second = asyncio.create_task(client.publish(LETTERS, patience=A_DAY))
    await broker.hears("ContentBody", 5)
    broker.say(ACK(2), ACK(4, True), NACK(5, False, False))

    assert await first == [CONFIRMED, CONFIRMED]
    assert await second == [CONFIRMED, CONFIRMED, REFUSED]


async def test_a_word_that_comes_too_late_harms_nobody(broker: ScriptedBroker, client: Client) -> None:
    """Each message has a number of its own, whoever has stopped waiting for it."""
    first = await client.publish(LETTERS, patience=AN_INSTANT)
    second = asyncio.create_task(client.publish(LETTERS[:2], patience=A_DAY))
    await broker.hears("ContentBody", 5)
    broker.say(ACK(1), ACK(3), NACK(4, False, False), ACK(5, True))

    assert first == [UNCONFIRMED] * 3
    assert await second == [REFUSED, CONFIRMED]


async def test_a_letter_that_cannot_be_written_leaves_the_others_their_numbers(
    broker: ScriptedBroker, client: Client
) -> None:
    with pytest.raises(OverflowError):
        await client.publish([*LETTERS, Posting("queue", "k" * 256, b"")], patience=A_DAY)
    publishing = asyncio.create_task(client.publish(LETTERS, patience=A_DAY))
    await broker.hears("ContentBody", 3)
    broker.say(ACK(1), NACK(2, False, False), ACK(3))

    assert await publishing == [CONFIRMED, REFUSED, CONFIRMED]


async def test_nothing_to_publish_is_done_at_once(broker: ScriptedBroker, client: Client) -> None:
    assert await client.publish([], patience=A_DAY) == []
    assert "Basic.Publish" not in broker.heard


async def test_a_broker_that_reads_nothing_costs_patience_but_no_memory(broker: ScriptedBroker, client: Client) -> None:
    """What finds no room is not even written; once there is room again, everything is as before."""
    broker.confirming = True
    broker.stop_reading()
    large = Posting("queue", "large", bytes(1_000_000))
    held = []
    for _ in range(40):
        fates = await client.publish([large], patience=AN_INSTANT)
        held.append(client._transport.get_write_buffer_size())
        assert fates == [UNCONFIRMED]
    broker.read_again()
    after = await client.publish(LETTERS, patience=A_DAY)

    assert 0 < max(held) < 2 * len(large.body)
    assert after == [CONFIRMED] * 3
    assert broker.heard.count("Basic.Publish") < 40


async def test_a_broker_that_takes_no_messages_for_now_is_sent_none(broker: ScriptedBroker, client: Client) -> None:
    """A broker short of memory or disk says so, and would read them all when it has some again."""
    broker.confirming = True
    broker.say(commands.Connection.Blocked("low on memory"))
    await client.call(DECLARE)  # by then it was heard
    meanwhile = await client.publish(LETTERS, patience=AN_INSTANT)
    waiting = asyncio.create_task(client.publish(LETTERS[:1], patience=A_DAY))
    await asyncio.sleep(0)
    unheard = "Basic.Publish" not in broker.heard
    broker.say(commands.Connection.Unblocked())

    assert meanwhile == [UNCONFIRMED] * 3
    assert unheard
    assert await waiting == [CONFIRMED]
    assert broker.heard.count("Basic.Publish") == 1


async def test_a_connection_that_is_lost_while_there_is_no_room_keeps_nobody_waiting(
    broker: ScriptedBroker, client: Client
) -> None:
    broker.stop_reading()
    large = Posting("queue", "large", bytes(20_000_000))
    publishing = [asyncio.create_task(client.publish([large], patience=A_DAY)) for _ in range(3)]
    await asyncio.sleep(0)  # until they are under way
    assert client._transport.get_write_buffer_size() > 0
    broker.say(FORCED)

    assert await asyncio.gather(*publishing) == [[UNCONFIRMED]] * 3
    assert client._transport.get_write_buffer_size() == 0

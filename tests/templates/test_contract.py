"""What a template is told is checked strictly, and comes back from JSON as it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.errors import ConfigurationError, InvalidTemplate
from postroom.templates.contract import Contract


class Plan(StrEnum):
    FREE = "free"
    PAID = "paid"


SEVEN = UUID(int=7)


class Level(Enum):
    ONE = 1


@dataclass(frozen=True)
class Line:
    title: str
    price: Decimal


@dataclass(frozen=True)
class Invoice:
    name: str
    number: int
    total: Decimal
    due: date
    made_at: datetime
    plan: Plan = Plan.FREE
    lines: tuple[Line, ...] = ()
    nickname: str | None = None
    level: Level = Level.ONE
    id: UUID = SEVEN
    notes: dict[str, str] = field(default_factory=dict)


CONTRACT = Contract("hub.invoice", Invoice)

invoices = st.builds(
    Invoice,
    name=st.text(st.characters(codec="utf-8")),
    number=st.integers(-(2**60), 2**60),
    total=st.decimals(allow_nan=False, allow_infinity=False, places=2),
    due=st.dates(),
    made_at=st.datetimes(timezones=st.just(UTC)),
    plan=st.sampled_from(Plan),
    lines=st.lists(
        st.builds(Line, title=st.text(st.characters(codec="utf-8")), price=st.just(Decimal("1.50"))), max_size=3
    ).map(tuple),
    nickname=st.none() | st.just("Ada"),
    notes=st.dictionaries(st.text("abc"), st.text("xyz"), max_size=2),
)


@given(invoices)
def test_variables_come_back_from_json_as_they_were(invoice: Invoice) -> None:
    assert CONTRACT.from_json(CONTRACT.to_json(invoice)) == invoice


def test_templates_see_data_without_behaviour() -> None:
    invoice = Invoice(
        "Ada", 1, Decimal(3), date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC), lines=(Line("Tea", Decimal(3)),)
    )

    plain = CONTRACT.plain(invoice)

    assert plain["plan"] == "free"
    assert type(plain["plan"]) is str
    assert plain["lines"] == [{"title": "Tea", "price": Decimal(3)}]
    assert plain["level"] == 1
    assert plain["id"] == str(SEVEN)


@pytest.mark.parametrize(
    ("changed", "variable"),
    [
        ({"number": "1"}, "number"),
        ({"number": True}, "number"),
        ({"name": None}, "name"),
        ({"due": "2026-01-02"}, "due"),
        ({"plan": "free"}, "plan"),
        ({"lines": ({"title": "Tea"},)}, "lines.0"),
        ({"lines": (Line(title=7, price=Decimal(3)),)}, "lines.0.title"),  # type: ignore[arg-type]
        ({"notes": {"a": 1}}, "notes.a"),
    ],
)
def test_nothing_is_guessed_and_no_value_is_told(changed: dict[str, object], variable: str) -> None:
    given = {"name": "Secret", "number": 1, "total": Decimal(3), "due": date(2026, 1, 2)}
    context = Invoice(**{**given, "made_at": datetime(2026, 1, 2, tzinfo=UTC), **changed})  # type: ignore[arg-type]

    with pytest.raises(InvalidTemplate) as refused:
        CONTRACT.plain(context)

    assert refused.value.variable == variable
    assert "Secret" not in str(refused.value)
    assert "Tea" not in str(refused.value)


def test_files_and_other_programs_may_write_dates_as_text_and_leave_out_what_has_a_default() -> None:
    read = CONTRACT.read(
        {"name": "Ada", "number": 1, "total": 3, "due": "2026-01-02", "made_at": "2026-01-02T10:00:00Z", "plan": "paid"}
    )

    assert read.due == date(2026, 1, 2)
    assert read.plan is Plan.PAID
    assert read.lines == ()
    with pytest.raises(InvalidTemplate, match=r"hub\.invoice: number: should be a valid integer"):
        CONTRACT.read({"name": "A", "number": "1", "total": 3, "due": "2026-01-02", "made_at": "2026-01-02T10:00:00Z"})


def test_a_variable_that_no_email_can_show_is_refused() -> None:
    @dataclass(frozen=True)
    class Wrong:
        user: Contract

    with pytest.raises(ConfigurationError, match="no email can show"):
        Contract("hub.wrong", Wrong).plain(Wrong(user=CONTRACT))


def test_a_mistake_inside_the_context_itself_stays_what_it_is() -> None:
    @dataclass(frozen=True)
    class Checked:
        name: str

        def __post_init__(self) -> None:
            raise TypeError("of its own")

    Contract("hub.checked", Checked).watch()

    with pytest.raises(TypeError, match="of its own"):
        Checked(name="Ada")

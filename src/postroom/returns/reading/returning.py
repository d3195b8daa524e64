"""The day on which somebody is back, where an answer says it plainly.

Only a date that stands directly behind words of returning or of an end is taken, only one that can be read in one way,
and only one after the message's own date and within a year of it. A wrong day would hold mail back for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from email.utils import parsedate_tz

from postroom.returns.reading.opening import Opened, raw

_MONTHS: tuple[tuple[str, ...], ...] = (
    ("january", "jan", "januar", "jänner", "janvier", "enero", "gennaio", "janeiro", "januari", "stycznia", "января"),
    ("february", "feb", "februar", "février", "fevrier", "febrero", "febbraio", "fevereiro", "februari", "lutego",
     "февраля"),
    ("march", "mar", "märz", "maerz", "mars", "marzo", "março", "maart", "marca", "марта"),
    ("april", "apr", "avril", "abril", "aprile", "kwietnia", "апреля"),
    ("may", "mai", "mayo", "maggio", "maio", "mei", "maj", "maja", "мая"),
    ("june", "jun", "juni", "juin", "junio", "giugno", "junho", "czerwca", "июня"),
    ("july", "jul", "juli", "juillet", "julio", "luglio", "julho", "lipca", "июля"),
    ("august", "aug", "août", "aout", "agosto", "augustus", "augusti", "sierpnia", "августа"),
    ("september", "sep", "sept", "septembre", "septiembre", "settembre", "setembro", "września", "сентября"),
    ("october", "oct", "oktober", "okt", "octobre", "octubre", "ottobre", "outubro", "października", "октября"),
    ("november", "nov", "novembre", "noviembre", "novembro", "listopada", "ноября"),
    ("december", "dec", "dezember", "dez", "décembre", "decembre", "diciembre", "dicembre", "dezembro", "grudnia",
     "декабря"),
)  # fmt: skip
_MONTH = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names}
_NAME = "|".join(sorted(_MONTH, key=len, reverse=True))
_DAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|maandag|dinsdag|woensdag|donderdag|vrijdag|lunedì|martedì|mercoledì|giovedì|venerdì"  # noqa: E501
_BACK = (
    r"(?:be |am |i'm )?back (?:in (?:the|my) office |at work |at my desk |online )?(?:again )?(?:on|from|by)?"
    r"|return(?:ing)? (?:to (?:the |my )?(?:office|work) )?(?:on|from)?|available again (?:on|from)"
    r"|(?:zurück|wieder (?:da|erreichbar|im büro|im haus|im hause|für sie da|anwesend|zurück)) (?:ab|am"
    r"|seit)?(?: dem)?|wieder (?:ab|am)(?: dem)?"
    r"|ab (?:dem )?(?=[^\n]{3,40}wieder)|am (?=[^\n]{3,40}(?:zurück|wieder))"
    r"|de retour (?:au bureau )?(?:le|à partir du|dès le)?|(?:vuelvo|regreso|estaré de vuelta|volveré"
    r"|regresaré) (?:a la oficina )?el(?: día)?"
    r"|(?:rientro|rientrerò|tornerò|di ritorno) (?:in ufficio )?(?:il|dal)|(?:retorno|estarei de volta|volto"
    r"|regressarei)(?: ao escritório)? (?:em|no dia|a)"
    r"|(?:weer|terug) (?:aanwezig |bereikbaar |op kantoor )?(?:op|vanaf)|tillbaka (?:den|på kontoret den)?"
    r"|вернусь|буду на месте с|с (?=[^\n]{3,30}буду)"
)
_UNTIL = r"until|till|hasta el(?: día)?|fino al?|até (?:o dia |dia )?|jusqu'au"
_THROUGH = (
    r"through|up to and including|bis (?:einschließlich |einschl\. |inkl\. |inklusive )?(?:zum |dem )?"
    r"|tot en met|t/m|до|do dnia"
)
_BETWEEN = rf"\s*:?\s*(?:the )?(?:(?:{_DAY})\.?,?\s*(?:(?:den|dem|the|le|el|il)\s+)?)?"
_DATE = (
    r"(?:(?P<iso>\d{4}-\d{2}-\d{2})"
    r"|(?P<dotted>\d{1,2}\. ?\d{1,2}\.(?: ?\d{4}| ?\d{2}(?!\d))?)"
    r"|(?P<slashed>\d{1,2}[/-]\d{1,2}[/-](?:\d{4}|\d{2}(?!\d)))"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.|º)?\s*(?:of |de "
    rf"|di )?(?P<named>{_NAME})\b\.?,?(?:\s*(?:de )?(?P<year>\d{{4}}))?"
    rf"|(?P<named2>{_NAME})\b\.?\s*(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s*(?P<year2>\d{{4}}))?)"
)
_SAID = tuple(
    (re.compile(rf"(?<!\w)(?:{words}){_BETWEEN}{_DATE}", re.IGNORECASE), timedelta(days=days))
    for words, days in ((_BACK, 0), (_THROUGH, 1), (_UNTIL, 0))
)
_LOOKED_AT = 5_000


def day_of_return(opened: Opened) -> date | None:
    """The day from which somebody is back; None where it is not said, or may be read in two ways."""
    sent = _sent(opened)
    text = " ".join(opened.report[:_LOOKED_AT].replace("’", "'").split())
    if sent is None:
        return None
    for pattern, further in _SAID:
        for found in pattern.finditer(text):
            for day in _days(found, sent):
                if sent < day <= sent + timedelta(days=365):
                    return day + further
    return None


def _sent(opened: Opened) -> date | None:
    told = parsedate_tz(raw(opened.headers, "Date")[:100])
    return _date(told[0], told[1], told[2]) if told else None


def _days(found: re.Match[str], sent: date) -> Iterator[date]:
    """The date that was written: none where it does not exist or may be two, one for each year it may stand for."""
    named = (found["named"] or found["named2"] or "").lower()
    if found["iso"]:
        year, month, day = found["iso"].split("-")
    elif found["dotted"]:
        day, month, year = re.split(r"\. ?", found["dotted"])
    elif found["slashed"]:
        day, month, year = re.split(r"[/-]", found["slashed"])
        if int(day) <= 12:
            if int(month) <= 12 and day != month:
                return  # the fourth of May, or the fifth of April
            day, month = month, day
    else:
        day, month = found["day"] or found["day2"], str(_MONTH[named])
        year = found["year"] or found["year2"] or ""
    for each in [int(year)] if year else [sent.year, sent.year + 1]:
        if (written := _date(each + 2000 if each < 100 else each, int(month), int(day))) is not None:
            yield written


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None

"""Whether a message is a report of a failure, whatever form it has."""

from __future__ import annotations

import re
from email.message import Message
from itertools import islice

from postroom.returns.reading.addresses import addresses_in
from postroom.returns.reading.decoding import words
from postroom.returns.reading.opening import Opened, raw

_SENDER = re.compile(
    r"mailer-?daemon|postmaster|mail delivery|delivery (?:sub)?system|mail system|mail administrator|mailadmin"
    r"|mmsc|ndr admin|root@|no-?reply.*bounce|mail router|message router",
    re.IGNORECASE,
)
_PROGRAM = re.compile(r"mailer-?daemon|mail delivery|delivery (?:sub)?system", re.IGNORECASE)
"""Of those, what no person is called."""
_SUBJECT = re.compile(
    r"undeliver|not delivered|delivery (?:status|fail|error|has fail|problem|report|notification|delay)|failure notice"
    r"|returned mail|returned to sender|mail fail|delivery of|could ?n.t be delivered|could not be delivered"
    r"|couldn't be delivered|non.?delivery|mail error|mail system error|message status|failed (?:mail|delivery"
    r"|recipient)"
    r"|delivery unsuccessful|unzustellbar|nicht zugestellt|zustellung|fehlgeschlagen|non remis|échec|non distribu"
    r"|no entregad|no se puede entregar|non recapitat|mancato recapito|não entregue|niedostarcz|не доставлен"
    r"|недоставлен|配信不能|発送失敗|投递失败|发送失败|退回|系统退信|returned by|unzugestellt|nedoručiteln"
    r"|ikke leveret|olevererbar|teslim edilemedi|エラー通知|メールエラー|配信エラー|配送エラー|送信エラー"
    r"|配送できません|配信できません|送信できません|退信|delayed|returning message to sender|warning: message"
    r"|user unknown|mail could not|errors from|undelivered|unable to deliver|bounce|rejected|message not",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"could not be delivered|couldn't be delivered|cannot be delivered|can't be delivered|was not delivered"
    r"|wasn't delivered|unable to deliver|not able to deliver|had (?:permanent|transient|delivery)|delivery (?:to|of) "
    r"|permanent(?:ly)? (?:fatal )?(?:error|fail)|following (?:address|recipient)\S{0,6} (?:had|has|have|fail"
    r"|was|were|could)|to the following (?:address|recipient)|has been delayed"
    r"|failed to deliver|not been delivered|undeliverable|delivery fail|did not reach|error delivering|bounced"
    r"|nicht zugestellt|konnte nicht|n'a pas pu être|no pudo ser|no se pudo|non è stato possibile"
    r"|не может быть доставлено|не удалось доставить|送信できません|配信できません|配送できません|送信に失敗"
    r"|届けることができません"
    r"|mailbox is full|no such user|user unknown|rejected|transcript of session|failed recipient"
    r"|requested action not taken|has been returned|was returned|无法发送|无法投递|无法送达|投递失败|发送失败"
    r"|退回|投遞|전송 실패|배달되지|kunde inte levereras|ikke leveres|ikke leveret|ei voitu toimittaa"
    r"|nie mogła zostać|nie może zostać|nebylo možné doručit|teslim edilemedi|kon niet worden|não pôde ser"
    r"|impossibile recapitare|n'a pas été remis|nessun recapito",
    re.IGNORECASE,
)
_NUMBERS = re.compile(
    r"(?<![\w./-])[45]\d\d[\s-]{1,3}[#(]?[45]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)|#[45]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)"
)
"""A reply code before a status, or a status with a mark: no date, no version and no address of a host."""
_NEAR = 600
"""Characters before such numbers in which an address stands."""
_MOST_NUMBERS = 20
_NO_PATH = re.compile(r"<(?:mailer-daemon[^<>\s]{0,255})?>", re.IGNORECASE)
"""A path that leads back to nobody, as Postfix writes it too where it hands mail to a program."""
_PASSED_ON = re.compile(r"\s*(?:re|aw|antw|sv|fwd?|wg|tr|rv|i|enc)\s*:", re.IGNORECASE)


def looks_like_a_report(opened: Opened) -> bool:
    """Whether sender, subject and sentences make it one: two of the three. In a language of which no words are known,
    the numbers of a failure beside an address are the sentence.

    A person who passes one on writes none, and neither does one who is away, though their programs too write as nobody.
    Nor does who answers in a thread and can be answered, a postmaster too: that may be about a failure, and quote it.
    """
    return not _is_conversation(opened) and (_is_worded(opened) or is_told_in_numbers(opened))


def is_told_in_numbers(opened: Opened) -> bool:
    """Whether it comes from a program that delivers mail, and has the numbers of a failure near an address."""
    if _PASSED_ON.match(words(raw(opened.headers, "Subject"))):
        return False
    if not is_by_a_system(opened):
        return False
    report = opened.report[:20_000]
    return any(addresses_in(report[max(0, each.start() - _NEAR) : each.start()]) for each in _numbers(opened))


def goes_on_by_numbers(opened: Opened) -> bool:
    """Whether nothing but numbers tells, and all of them are of a failure that may pass: then no more is said."""
    return not _is_worded(opened) and all(each[0].lstrip("#").startswith("4") for each in _numbers(opened))


def _numbers(opened: Opened) -> list[re.Match[str]]:
    return list(islice(_NUMBERS.finditer(opened.report[:20_000]), _MOST_NUMBERS))


def _is_worded(opened: Opened) -> bool:
    subject = words(raw(opened.headers, "Subject"))
    if "X-Failed-Recipients" in opened.headers:
        return True
    if _PASSED_ON.match(subject):
        return False
    titled, written = _SUBJECT.search(subject) is not None, _is_from_daemon(opened)
    if titled and is_by_a_system(opened):
        return True
    return (titled or written) and _OPENING.search(opened.report[:5_000]) is not None


def is_by_a_system(opened: Opened) -> bool:
    """Whether its sender or its path tells that no person wrote it.

    Words alone may be a person's who speaks of somebody else's mail: nobody is dead by them.
    """
    return "X-Failed-Recipients" in opened.headers or leads_back_to_nobody(opened.headers) or _is_from_daemon(opened)


def _is_conversation(opened: Opened) -> bool:
    """Whether it answers something, along a path that leads back to somebody who is not called a program."""
    if "X-Failed-Recipients" in opened.headers or _PROGRAM.search(words(raw(opened.headers, "From"))):
        return False
    answers = "In-Reply-To" in opened.headers or "References" in opened.headers
    return answers and raw(opened.headers, "Return-Path").strip() != "" and not leads_back_to_nobody(opened.headers)


def leads_back_to_nobody(headers: Message) -> bool:
    """Whether its envelope had no sender, as that of reports and of programs that answer."""
    return _NO_PATH.fullmatch(raw(headers, "Return-Path").strip()) is not None


def _is_from_daemon(opened: Opened) -> bool:
    """Whether it comes from somebody who is called after a program that delivers mail."""
    return _SENDER.search(f"{words(raw(opened.headers, 'From'))} {raw(opened.headers, 'Return-Path')}") is not None

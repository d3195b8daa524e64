"""Whether a message is a report of a failure, whatever form it has."""

from __future__ import annotations

import re

from postroom.returns.reading.decoding import words
from postroom.returns.reading.opening import Opened, raw

_SENDER = re.compile(
    r"mailer-?daemon|postmaster|mail delivery|delivery (?:sub)?system|mail system|mail administrator|mailadmin"
    r"|mmsc|ndr admin|root@|no-?reply.*bounce|mail router|message router",
    re.IGNORECASE,
)
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
_PASSED_ON = re.compile(r"\s*(?:re|aw|antw|sv|fwd?|wg|tr|rv|i|enc)\s*:", re.IGNORECASE)


def looks_like_a_report(opened: Opened) -> bool:
    """Whether sender, subject and sentences make it one: two of the three.

    A person who passes one on writes none, and neither does one who is away, though their programs too write as nobody.
    """
    subject = words(raw(opened.headers, "Subject"))
    if "X-Failed-Recipients" in opened.headers:
        return True
    if _PASSED_ON.match(subject):
        return False
    titled, written = _SUBJECT.search(subject) is not None, is_from_daemon(opened)
    if titled and (written or raw(opened.headers, "Return-Path").strip() == "<>"):
        return True
    return (titled or written) and _OPENING.search(opened.report[:5_000]) is not None


def is_from_daemon(opened: Opened) -> bool:
    """Whether it comes from somebody who is called after a program that delivers mail."""
    return _SENDER.search(f"{words(raw(opened.headers, 'From'))} {raw(opened.headers, 'Return-Path')}") is not None

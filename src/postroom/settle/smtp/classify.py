"""What one conversation with the server meant for each recipient, for the email and for the transport.

`judge` knows what a single reply means; here the replies of one envelope are put together:

- The reply to the dot speaks for those whom RCPT accepted. A refusal of the email itself speaks for the deferred, too.
- Where RCPT accepted nobody, what follows it (`554 no valid recipients`, a lone dot) says nothing new: the replies to
  RCPT stand.
- Only a dot that left for somebody and was not answered leaves a fate unknown. A complete 4xx or 5xx is an answer.
"""

from __future__ import annotations

from datetime import timedelta

from postroom.send.contract import Fault, FaultKind, Phase, Reply, Report
from postroom.settle.classification import Classification, Heard, accepted
from postroom.settle.smtp.judge import Judgement, before, judge, judge_fault, rest
from postroom.settle.verdict import OK, About, Fate, TransportVerdict, gravest


def classify(report: Report) -> Classification:
    """Say what the report, which has an entry for each recipient, means.

    Never guesses: what cannot be known is `unknown`.
    """
    reply = report.reply
    if reply is not None and reply.phase is Phase.DOT and accepted(reply):
        return _delivered(report, reply)
    if _in_doubt(report):
        return _doubtful(report)
    end = report.fault or reply
    if end is None or (_nobody_accepted(report) and not before(end.phase, Phase.RCPT)):
        return _nobody(report)
    return _ended(report, end, judge(end) if isinstance(end, Reply) else judge_fault(end))


def _in_doubt(report: Report) -> bool:
    answered = report.reply is not None and report.reply.phase is Phase.DOT and report.reply.code >= 400
    return report.dot_left and not answered and not _nobody_accepted(report)


def _nobody_accepted(report: Report) -> bool:
    """Every recipient was answered, and none with a yes."""
    return bool(report.recipients) and all(reply is not None and not accepted(reply) for reply in report.recipients)


def _delivered(report: Report, reply: Reply) -> Classification:
    if all(map(accepted, report.recipients)):
        heard = Heard(fate=Fate.ACCEPTED, reply=reply)
        return Classification(recipients=(heard,) * len(report.recipients), about=None, cause=reply, transport=OK)
    others = [(said, judge(said)) for said in report.recipients if said is not None and not accepted(said)]
    recipients = tuple(_heard(said, Heard(fate=Fate.ACCEPTED, reply=reply)) for said in report.recipients)
    deferred = [judgement for _, judgement in others if judgement.fate is Fate.DEFERRED]
    crowded = bool(deferred) and all(judgement.crowded for judgement in deferred)
    # An email just went through: only a text that is known to speak of the transport outranks that.
    verdicts = [judgement.transport for _, judgement in others if judgement.blameless and judgement.transport]
    return Classification(
        recipients=recipients,
        about=About.RECIPIENT,
        cause=others[0][0] if others else reply,
        transport=gravest(verdicts) or OK,
        wait=_longest(deferred),
        blameless=bool(verdicts),
        counts=not crowded,
    )


def _doubtful(report: Report) -> Classification:
    recipients = tuple(_heard(said, Heard(fate=Fate.UNKNOWN, reply=None)) for said in report.recipients)
    cause = report.fault or report.reply
    return Classification(recipients=recipients, about=About.EMAIL, cause=cause, transport=None)


def _ended(report: Report, cause: Reply | Fault, judgement: Judgement) -> Classification:
    """The conversation ended before anything could be accepted."""
    said = cause if isinstance(cause, Reply) else None
    whole = Heard(fate=judgement.fate, reply=said)
    if said is not None and said.phase is Phase.RCPT:
        # It was said to one of them, whose own reply is kept; the others have not been asked.
        whole = Heard(fate=Fate.DEFERRED, reply=None)
    recipients = tuple(_ended_for(reply, whole) for reply in report.recipients)
    return Classification(
        recipients=recipients,
        about=judgement.about,
        cause=cause,
        transport=judgement.transport,
        wait=judgement.wait,
        blameless=judgement.blameless,
        counts=not (isinstance(cause, Fault) and cause.kind is FaultKind.ABANDONED),
    )


def _nobody(report: Report) -> Classification:
    """RCPT accepted nobody: each recipient's own reply stands."""
    judged = [(said, _judge_alone(said)) for said in report.recipients if said is not None]
    deferred = [judgement for _, judgement in judged if judgement.fate is Fate.DEFERRED]
    verdicts = [judgement.transport for _, judgement in judged if judgement.transport is not None]
    transport = gravest(verdicts) or _reached(report)
    cause, decisive = next(
        ((said, one) for said, one in judged if one.transport is transport and transport is not OK),
        judged[0] if judged else (None, None),
    )
    return Classification(
        recipients=tuple(_heard(said, Heard(fate=Fate.DEFERRED, reply=None)) for said in report.recipients),
        about=decisive.about if decisive else About.EMAIL,
        cause=cause,
        transport=transport,
        wait=_longest(deferred),
        blameless=bool(decisive and decisive.blameless),
    )


def _judge_alone(said: Reply) -> Judgement:
    """Where nobody was accepted, 452 cannot mean that the envelope was full: the server is short of something."""
    judgement = judge(said)
    return rest(said) if judgement.crowded else judgement


def _reached(report: Report) -> TransportVerdict | None:
    return OK if report.capabilities_known else None


def _heard(said: Reply | None, otherwise: Heard) -> Heard:
    """A refusal or deferral at RCPT stands; for the others the rest of the conversation speaks."""
    return otherwise if said is None or accepted(said) else Heard(fate=judge(said).fate, reply=said)


def _ended_for(said: Reply | None, whole: Heard) -> Heard:
    heard = _heard(said, whole)
    return whole if whole.fate is Fate.REFUSED and heard.fate is Fate.DEFERRED else heard


def _longest(judgements: list[Judgement]) -> timedelta | None:
    return max((one.wait for one in judgements if one.wait is not None), default=None)

"""Whether what bounced can ever arrive: one rule for whoever hears of it, in a report or in the session.

An address that is called dead by mistake is never mailed again, and nobody notices; one that is called alive by mistake
bounces once more. So it is dead only where that was said in so many words, or by a status that means nothing else, and
nothing beside it speaks of anything else: the same status stands before blocks and limits. To the content both have to
say so, status and words: Exchange looks recipients up no sooner, and others say either of mail that they do not want.
"""

from __future__ import annotations

import re

from postroom.settle.bounces.phrases import (
    ABSENT_DOMAIN,
    ABSENT_NAMED,
    ABSENT_SURELY,
    ABSENT_TOLD,
    ABSENT_USER,
    FULL,
    MOVED,
    REFUSED,
    REFUSED_WORDS,
    UNWILLING_DOMAIN,
)
from postroom.settle.bounces.saying import JUDGED, Phase, Saying
from postroom.vocabulary import BounceClass

DEAD = frozenset({"5.1.1", "5.1.6", "5.1.10"})
"""No such mailbox, moved away, a domain that takes no mail."""
_OF_DOMAIN = frozenset({"5.1.2", "5.4.4"})
_OF_SENDER = frozenset({"5.1.7", "5.1.8", "5.1.9"})
_NAMES = re.compile(
    r"https?://\S{1,500}|<?[^\s<>@:;,()\[\]]{1,200}@[^\s<>]{1,200}>?|\b[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,10}\b"
)
"""URLs, addresses, hosts."""
_WRAPPED = re.compile(
    r"unknown address error|in (?:relay recipient|local recipient|virtual mailbox|virtual alias) table"
)
"""What one system puts before every refusal, whatever it says; what another says of itself."""
_NEVER_MAIL = (521, 556)
"""A host or a domain that takes no mail, RFC 7504."""
_CODED = re.compile(r"\bib\d{3}\b")
"""A large provider's numbers for policies and limits, which it puts behind 5.1.1."""
_WORD = re.compile(r"\w+")
_ADVICE = re.compile(
    r"\b(?:please|kindly|you should|(?:the )?sender should) (?:double-?|re-?)?(?:verify|check|confirm|correct)"
    r"(?: (?:that|you|have|the|this|a|his|her|their|correct|right|valid|intended|e-?mail)\b)*"
    r" (?:recipient(?:'s)?|user(?:'s)?|mailbox|address(?:es)?|spelling|typos)\b"
    r"(?: (?:and|of|for|the|recipient(?:'s)?|user(?:'s)?|e-?mail|name|mailbox|address(?:es)?|is|are|correct|right"
    r"|valid|try|resend|send|again|it)\b)*"
    r"|\bcheck for typos or unnecessary spaces and try again|\baddress is not configured to receive\b"
)
"""What is said beside «it does not exist», and would be a refusal without it."""
_ASIDE = re.compile(r"\bmessage from (?:a )?bulk sender|\bmailbox is unavailable(?=:| \()")
"""The same where it was told who does not exist."""
_ON_ITS_PAGES = "for explanation visit"
"""A large provider's, behind «mailbox unavailable» whatever it refuses, content too: its pages tell what it was."""
_NO_NAME = re.compile(
    r"dns type 'mx' lookup of responded with code nxdomain"
    r"|dns error: address resolution of (?:\. )?failed: domain name not found"
)
"""A large provider's own look at the recipient's domain; behind it stands advice to try again."""
_OF_POLICY = ("5.3.", "5.5.", "5.6.", "5.7.")
"""Statuses of the system, the protocol, the content, the policy: what does not exist there may be anything."""
_OF_ADDRESS = ("5.1.", "5.4.")
_EXPLAINED = ("5.2.", "5.3.", "5.4.", "5.5.", "5.6.", "5.7.")
_UNTOLD = ("5.0.", "5.1.", "5.5.")


def bounce_class(said: Saying) -> BounceClass:
    """Permanent, transient, or undetermined: by the other end's own words, else by all that is told of it."""
    for text in (said.reply, said.text):
        if text and (verdict := _by_words(said, _plain(text))) is not None:
            return verdict
    if _is_temporary(said) or _is_of_sender(said):
        return BounceClass.TRANSIENT
    if said.status in DEAD and said.phase is not Phase.CONTENT and not _is_guessed(said):
        return BounceClass.PERMANENT
    return BounceClass.TRANSIENT if said.status.startswith(_EXPLAINED) else BounceClass.UNDETERMINED


def _by_words(said: Saying, words: str) -> BounceClass | None:
    if _is_temporary(said) or _is_of_sender(said):
        return BounceClass.TRANSIENT
    refused = _any(FULL, words) or _is_refused(words)
    if said.phase is Phase.CONTENT and not refused:
        sure = said.status in DEAD and not _is_guessed(said) and _any(ABSENT_USER, words)
        return BounceClass.PERMANENT if sure else None
    if _is_in_no_directory(said, words):
        return BounceClass.PERMANENT
    if _NO_NAME.search(words) and not said.status.startswith(_OF_POLICY):
        return BounceClass.PERMANENT
    if refused:
        return BounceClass.TRANSIENT
    return BounceClass.PERMANENT if _is_permanent(said, words) else None


def _is_refused(words: str) -> bool:
    if _any(ABSENT_USER, words) or _any(ABSENT_DOMAIN, words):
        words = _ADVICE.sub(" ", words)
    if _any(ABSENT_NAMED, words) or _any(ABSENT_DOMAIN, words):
        words = _ASIDE.sub(" ", words)
    short = not REFUSED_WORDS.isdisjoint(_WORD.findall(words))
    return short or _any(REFUSED, words) or _CODED.search(words) is not None


def _is_in_no_directory(said: Saying, words: str) -> bool:
    """Microsoft's words for a recipient that it does not know, which elsewhere are a policy's. Some put 5.1.0 before
    everything that they report."""
    told = "recipient address rejected: access denied" in words and "5.4.1 " in said.text
    return told and said.status in ("5.4.1", "5.1.0") and said.phase in (Phase.RECIPIENT, Phase.UNKNOWN)


def _is_temporary(said: Saying) -> bool:
    """By the status or by the code: one that gives up after days of 450 writes 5.4.7 over it, and nobody is dead."""
    return said.status.startswith("4.") or (said.code is not None and said.code < 500)


def _is_of_sender(said: Saying) -> bool:
    """Who did not please was the sender; the recipient was not asked about."""
    return said.phase is Phase.SENDER or said.status in _OF_SENDER


def _is_guessed(said: Saying) -> bool:
    """Whether the status is the reporting system's own: some have 5.1.1 for every 550 that came without a status."""
    return bool(said.reply) and said.status not in said.reply


def _is_permanent(said: Saying, words: str) -> bool:
    if _may_be_of_recipient(said) and (_any(UNWILLING_DOMAIN, words) or _any(MOVED, words)):
        return True
    if _may_be_of_recipient(said) and not _is_said_by_its_host(said) and _any(ABSENT_DOMAIN, words):
        return True
    if said.status in DEAD and (_any(ABSENT_USER, words) or not _is_guessed(said)):
        return True
    if said.status in _OF_DOMAIN and "invalid domain" in words:
        return True
    if said.code is None and "unknown user:" in words:
        return True  # IMail, of its own mailboxes
    if said.code in _NEVER_MAIL and "not accepting network messages" in words:
        return True
    if (
        said.phase is not Phase.DATA
        and (not said.status or said.status.startswith(_UNTOLD))
        and _any(ABSENT_SURELY, words)
        and (said.phase is Phase.RECIPIENT or _ON_ITS_PAGES not in words)
    ):
        return True
    if said.status == "5.1.0" and said.phase is not Phase.DATA and "# address rejected" in words:
        return True  # IronPort, whose recipients are looked up before they are accepted
    if said.status == "5.7.27" and said.phase is not Phase.DATA and "host does not accept mail" in words:
        return True  # sendmail, of the recipient's domain: elsewhere that status is of the sender's
    if said.code is None and not said.status and _any(ABSENT_TOLD, words):
        return True
    answered = said.phase is Phase.RECIPIENT or (said.phase is Phase.UNKNOWN and said.status.startswith("5.1."))
    return answered and _any(ABSENT_NAMED if _may_be_of_another(said, words) else ABSENT_USER, words)


def _may_be_of_recipient(said: Saying) -> bool:
    """Whether a domain that is not there may be the recipient's. One record that the sender's lacks, or a link in what
    they wrote, is said in the same words, and to everybody whom they write to."""
    return said.phase is not Phase.DATA and not said.status.startswith(_OF_POLICY)


def _may_be_of_another(said: Saying, words: str) -> bool:
    """Whether, by its status, what does not exist may be anything. Sendmail has 5.3.0 for an address without one of its
    own, and for a sender's domain."""
    unsaid = said.status == "5.3.0" and not _any(ABSENT_DOMAIN, words)
    return said.status.startswith(_OF_POLICY) and not unsaid


def _is_said_by_its_host(said: Saying) -> bool:
    """Whether it was said by the server that the recipient's domain has led to: that domain exists, and without a
    status nobody knows which one is meant."""
    return said.phase is Phase.RECIPIENT and said.code is not None and not said.status.startswith(_OF_ADDRESS)


def _any(phrases: tuple[str, ...], words: str) -> bool:
    return any(phrase in words for phrase in phrases)


def _plain(text: str) -> str:
    """As phrases are written: lower case, single spaces, typewriter's apostrophes, a mailbox in one word.

    Without names, which say nothing.
    """
    lower = text[:JUDGED].lower().replace("’", "'")
    plain = " ".join(_WRAPPED.sub(" ", _NAMES.sub(" ", lower)).replace("_", " ").split())
    return plain.replace("mail-box", "mailbox").replace("mail box", "mailbox")

"""What comes back to the team, as mail systems and people write it: a bounce, a complaint, an answer, an absence."""

from __future__ import annotations

from datetime import date, datetime
from email.utils import format_datetime

from examples.outreach.log import Delivery


def bounce(of: Delivery, now: datetime) -> bytes:
    """A mailbox does not exist: a report of delivery, RFC 3464."""
    return _message(
        f"""\
        Return-Path: <>
        From: Mail Delivery System <mailer-daemon@mx.example>
        To: {of.envelope_sender}
        Subject: Undelivered Mail Returned to Sender
        Date: {format_datetime(now)}
        Message-ID: <bounce.{_mark(of)}@mx.example>
        Auto-Submitted: auto-replied
        MIME-Version: 1.0
        Content-Type: multipart/report; report-type=delivery-status; boundary="=parts"

        --=parts
        Content-Type: text/plain

        Your message could not be delivered: there is no such mailbox.

        --=parts
        Content-Type: message/delivery-status

        Reporting-MTA: dns; mx.example

        Final-Recipient: rfc822; {of.to}
        Action: failed
        Status: 5.1.1
        Diagnostic-Code: smtp; 550 5.1.1 no such user

        --=parts
        Content-Type: text/rfc822-headers

        {_headers(of)}

        --=parts--
        """
    )


def complaint(of: Delivery, now: datetime) -> bytes:
    """A reader has pressed «spam»: a report of abuse, RFC 5965."""
    return _message(
        f"""\
        From: Feedback <feedback@mailboxes.example>
        To: {of.envelope_sender}
        Subject: FW: {of.subject}
        Date: {format_datetime(now)}
        Message-ID: <complaint.{_mark(of)}@mailboxes.example>
        MIME-Version: 1.0
        Content-Type: multipart/report; report-type=feedback-report; boundary="=parts"

        --=parts
        Content-Type: text/plain

        This is a report about a message that one of our readers does not want.

        --=parts
        Content-Type: message/feedback-report

        Feedback-Type: abuse
        User-Agent: Mailboxes/1.0
        Version: 1
        Original-Rcpt-To: {of.to}

        --=parts
        Content-Type: message/rfc822

        {_headers(of)}

        Hello.

        --=parts--
        """
    )


def reply(of: Delivery, now: datetime) -> bytes:
    """A person answers."""
    return _message(
        f"""\
        From: {of.to}
        To: {of.sender}
        Subject: Re: {of.subject}
        Date: {format_datetime(now)}
        Message-ID: <reply.{_mark(of)}@{of.to.partition("@")[2]}>
        In-Reply-To: {of.message_id}
        References: {of.message_id}
        Content-Type: text/plain

        Yes, please send us the drawing.
        """
    )


def absence(of: Delivery, now: datetime, *, back: date) -> bytes:
    """A program answers for somebody who is away, RFC 3834."""
    return _message(
        f"""\
        From: {of.to}
        To: {of.sender}
        Subject: Out of office: {of.subject}
        Date: {format_datetime(now)}
        Message-ID: <absence.{_mark(of)}@{of.to.partition("@")[2]}>
        In-Reply-To: {of.message_id}
        References: {of.message_id}
        Auto-Submitted: auto-replied
        Content-Type: text/plain

        I am out of the office and will be back on {back.isoformat()}.
        """
    )


def _headers(of: Delivery) -> str:
    """Of the mail that it is about, as far as anybody needs them; in lines that fit into the text around them."""
    lines = (f"From: {of.sender}", f"To: {of.to}", f"Subject: {of.subject}", f"Message-ID: {of.message_id}")
    return "\n        ".join(lines)


def _mark(of: Delivery) -> str:
    return of.message_id.strip("<>").partition("@")[0]


def _message(text: str) -> bytes:
    """A message as it is written here, without the margin."""
    return "".join(f"{line[8:]}\r\n" for line in text.splitlines()).encode()

"""Everything Postroom raises on purpose.

    PostroomError
    ├── ConfigurationError        a setting is missing, unknown or contradicts another
    ├── InvalidEmail              the email could not be accepted as it is (also a ValueError)
    │   └── InvalidTemplate       a template cannot say what it was to say (also a TypeError)
    ├── InvalidCampaign           a campaign, its settings or an id of it was refused (also a ValueError)
    ├── NotInWorkspace            a workspace has no campaign, sequence, sender or prospect with that id (also a
    │                             LookupError)
    ├── CannotFinish              some of a campaign's mail would never leave with these settings
    ├── UnknownConnection         `connection=` is of a type Postroom cannot enqueue through (also a TypeError)
    ├── SchemaError               the database has no Postroom tables, or those of another version
    ├── WrongDeployment           the database belongs to another deployment: nothing is sent from it
    ├── EmailNotFound             no email with that id (also a LookupError)
    ├── UnreadableEmail           the email's content is damaged or gone
    ├── NotApplicable             the email's present status does not allow the act
    ├── SensitiveEmail            the email is sensitive, and what was asked for might show it to somebody
    ├── NameTaken                 somebody has this name already
    ├── PersonNotFound            nobody has this name (also a LookupError)
    ├── JournalFailed             the journal cannot be written: no dot may leave without a note
    └── StoreUnavailable          the database cannot be reached just now

Each says what happened, to which email or field, and what to do next. None carries an address in its message
unless the caller has just given that address.
"""

from __future__ import annotations

from postroom.vocabulary import EmailId, Status


class PostroomError(Exception):
    """The root of the tree above."""


class ConfigurationError(PostroomError):
    """A setting is missing, unknown or contradicts another."""


class InvalidEmail(PostroomError, ValueError):
    """The email was refused before anything was written.

    `field` names the offending field (`to`, `subject`, `headers['X-Thing']`, …), `problem` what is wrong with it and
    `remedy` what to do about it.
    """

    def __init__(self, field: str, problem: str, remedy: str) -> None:
        super().__init__(f"{field}: {problem}; {remedy}")
        self.field = field
        self.problem = problem
        self.remedy = remedy


class InvalidTemplate(InvalidEmail, TypeError):
    """A template could not be rendered with what it was given; nothing was written.

    `template` is its name (`hub.welcome`), and `variable` the name that is missing, unknown or wrong, if it is about
    one. The message holds no value of any variable.
    """

    def __init__(self, template: str, problem: str, remedy: str, *, variable: str | None = None) -> None:
        super().__init__(f"{template}: {variable}" if variable else template, problem, remedy)
        self.template = template
        self.variable = variable


class InvalidCampaign(PostroomError, ValueError):
    """A campaign, its sending settings or one of its ids was refused before anything was written.

    `field` names the offending field (`timezone`, `sending_days`, `prospect_id`, …), `problem` what is wrong with it
    and `remedy` what to do about it.
    """

    def __init__(self, field: str, problem: str, remedy: str) -> None:
        super().__init__(f"{field}: {problem}; {remedy}")
        self.field = field
        self.problem = problem
        self.remedy = remedy


class NotInWorkspace(PostroomError, LookupError):
    """The workspace has nothing of this kind with this id; whether another workspace has is not told.

    `what` is the kind (`campaign`, `sequence`, `sender`, `prospect`), or `workspace` for one that is not to be seen.
    """

    def __init__(self, what: str, id: str, workspace: str, remedy: str) -> None:
        where = f" in the workspace {workspace!r}" if workspace else ""
        super().__init__(f"there is no {what} {id[:100]!r}{'' if what == 'workspace' else where}; {remedy}")
        self.what = what
        self.id = id
        self.workspace = workspace


class CannotFinish(PostroomError):
    """A plan came to a point from which on nothing can ever leave; the slots before it hold.

    `left` counts the mails that have no slot, `reason` says why and `remedy` what to do about it.
    """

    def __init__(self, left: int, reason: str, remedy: str) -> None:
        super().__init__(f"{left} {'mail' if left == 1 else 'mails'} would never leave: {reason}; {remedy}")
        self.left = left
        self.reason = reason
        self.remedy = remedy


class UnknownConnection(PostroomError, TypeError):
    """The object given as `connection=` is none of the known kinds."""


class SchemaError(PostroomError):
    """The database's Postroom tables are absent or of another version."""


class WrongDeployment(PostroomError):
    """The database belongs to another deployment than this process was configured for: nothing is sent from it."""


class EmailNotFound(PostroomError, LookupError):
    """No email has this id: it was never committed, or it was dismissed or pruned since."""

    def __init__(self, id: EmailId) -> None:
        super().__init__(f"no email {id}: it was never committed, or it has been dismissed or pruned since")
        self.id = id


class UnreadableEmail(PostroomError):
    """What the email says, or where its recipients stand, is damaged or gone; nothing was changed."""

    def __init__(self, id: EmailId, problem: str) -> None:
        super().__init__(f"email {id} cannot be read: {problem}")
        self.id = id
        self.problem = problem


class NotApplicable(PostroomError):
    """The act does not apply to an email in its present status; nothing was changed."""

    def __init__(self, act: str, id: EmailId, status: Status, allowed: tuple[Status, ...]) -> None:
        allowed_words = " or ".join(status.value for status in allowed)
        super().__init__(f"cannot {act} email {id}: it is {status.value}, and {act} applies to {allowed_words} emails")
        self.act = act
        self.id = id
        self.status = status
        self.allowed = allowed


class SensitiveEmail(PostroomError):
    """What was asked for might show a sensitive email to somebody it is not for; nothing was changed.

    `problem` says why, and `remedy` what to do instead.
    """

    def __init__(self, act: str, id: EmailId, problem: str, remedy: str) -> None:
        super().__init__(f"cannot {act} email {id}: {problem}; {remedy}")
        self.act = act
        self.id = id
        self.problem = problem
        self.remedy = remedy


class NameTaken(PostroomError):
    """Somebody has this name already; nothing was changed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is there already; `postroom user password` changes the password")
        self.name = name


class PersonNotFound(PostroomError, LookupError):
    """Nobody has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"nobody is called {name}; `postroom user list` shows who there is")
        self.name = name


class StoreUnavailable(PostroomError):
    """The database cannot be reached just now; nothing was changed."""


class JournalFailed(PostroomError):
    """The journal cannot be written: no dot may leave without a note."""

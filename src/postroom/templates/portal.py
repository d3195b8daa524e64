"""A portal: a brand, a sender, and the templates that speak for it. Templates are never shared between portals."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from postroom.compose import Attachment, Email, Invite
from postroom.compose.address import AddressesLike, parse_addresses
from postroom.compose.edition import Edition
from postroom.compose.email import HeadersLike
from postroom.compose.unsubscribing import UNSUBSCRIBE_URL
from postroom.errors import ConfigurationError, InvalidTemplate
from postroom.extras import needed
from postroom.spelling import suggestion
from postroom.templates.brand import Brand
from postroom.templates.languages import Languages, UnknownLanguage, direction

# What renders is imported when something is rendered: an application that only names its portals needs none of it.
if TYPE_CHECKING:
    from postroom.templates.contract import Contract
    from postroom.templates.engine import Engine
    from postroom.templates.files import Files
    from postroom.templates.template import Template

Context = TypeVar("Context")

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LOGO = "logo"


class Portal:
    """One side of a company that writes to people, with a voice of its own.

        hub = Portal("hub", templates="templates/hub", sender="Hub <hello@hub.example>", brand=Brand(name="Hub"))

    `templates` is a folder, seen from the module that makes the portal, or else from the working directory. The first
    of `languages` is that of files without a language in their name, and where every search for a language ends;
    `fallbacks` says where to look beside that: `{"gsw": "de"}`. May be used by any number of threads.
    """

    def __init__(
        self,
        name: str,
        *,
        templates: str | Path,
        brand: Brand,
        sender: AddressesLike | None = None,
        languages: Iterable[str] = ("en",),
        fallbacks: Mapping[str, str] | None = None,
    ) -> None:
        self.name = checked_name("a portal", name)
        self.brand = brand
        self.sender = parse_addresses("sender", sender)
        self.languages = Languages.of(languages, fallbacks or {})
        self.root = _located(Path(templates), sys._getframe(1).f_globals.get("__file__"))
        self._contexts: dict[str, type] = {}
        self._names: dict[type, str] = {}
        self._contracts: dict[str, Contract] = {}
        self._engines: dict[tuple[str, ...], Engine] = {}
        self._templates: dict[tuple[str, str], Template] = {}

    def __repr__(self) -> str:
        return f"Portal({self.name!r})"

    @overload
    def template(self, context: type[Context], /) -> type[Context]: ...
    @overload
    def template(self, /, *, name: str | None = None) -> Callable[[type[Context]], type[Context]]: ...
    def template(self, context: type[Any] | None = None, /, *, name: str | None = None) -> Any:
        """Name the variables of a template: a dataclass, whose name in small letters is that of the template."""
        if context is None:
            return lambda given: self._add(given, name)
        return self._add(context, name)

    @property
    def names(self) -> tuple[str, ...]:
        """The templates that have their variables named, in that order."""
        return tuple(self._contexts)

    def email(
        self,
        context: object,
        *,
        to: AddressesLike | None = None,
        language: str | None = None,
        late: bool = False,
        cc: AddressesLike | None = None,
        bcc: AddressesLike | None = None,
        reply_to: AddressesLike | None = None,
        sender: AddressesLike | None = None,
        attachments: Attachment | Iterable[Attachment] = (),
        invite: Invite | None = None,
        headers: HeadersLike = (),
        tags: str | Iterable[str] = (),
    ) -> Email:
        """The email that a template makes of its variables: rendered, checked, and an `Email` like any other.

        With `late`, variables and language are checked now, and the words are rendered when the email is first claimed;
        from then on they stay. Raises `InvalidTemplate`, which is an `InvalidEmail`.
        """
        name = self._name_of(context)
        template = self.in_language(name, language)
        given: dict[str, Any] = {"to": to, "cc": cc, "bcc": bcc, "reply_to": reply_to, "sender": sender or self.sender}
        given |= {"invite": invite, "headers": headers, "tags": tags, "edition": self.edition(name, template)}
        if late:
            return Email(**given, attachments=attachments, late=template.contract.to_json(context))
        rendered = template.render(template.contract.plain(context))
        own = (attachments,) if isinstance(attachments, Attachment) else tuple(attachments)
        return Email(
            **given,
            subject=rendered.subject,
            text=rendered.text,
            html=rendered.html,
            attachments=(*own, *self.pictures_in(rendered.html)),
        )

    def context(self, name: str, values: Mapping[str, Any]) -> Any:
        """The variables of a template by its name, from values as JSON or TOML has them."""
        return self.contract(name).read(values)

    def contract(self, name: str) -> Contract:
        """What a template must be told."""
        if name not in self._contexts:
            known = suggestion(name, self._contexts) if self._contexts else "it has none yet"
            raise InvalidTemplate(f"{self.name}.{name}", "there is no such template", known)
        return self._contracts[name]

    def in_language(self, name: str, language: str | None) -> Template:
        """A template in the language that is asked for, or in the first that stands for it and has all its parts."""
        contract = self.contract(name)
        try:
            chain = self.languages.chain(language)
        except UnknownLanguage as error:
            raise InvalidTemplate(contract.template, "unknown language", str(error), variable="language") from None
        for spoken in chain:
            if self.files.speaks(name, spoken):
                return self._compiled(name, spoken)
        where = self.root / name
        raise InvalidTemplate(
            contract.template,
            f"{where} lacks {', '.join(self.files.missing(name, chain[-1]))}",
            f"write it, or begin with `postroom template new {self.name} {name}`",
        )

    def edition(self, name: str, template: Template) -> Edition:
        """What an email made with this template is recorded as."""
        return Edition(portal=self.name, template=name, version=template.version, language=template.language)

    def samples(self, name: str, language: str) -> dict[str, Any]:
        """The samples of a template for a language: contexts by their names."""
        from postroom.templates.samples import samples_of

        return samples_of(self.contract(name), name, self.files, self.languages.chain(language))

    def pictures_in(self, html: str) -> tuple[Attachment, ...]:
        """What travels inside an email because its HTML shows it."""
        if self.brand.logo is None or self._logo_address not in html:
            return ()
        if self._logo is None:
            raise InvalidTemplate(self.name, self.lacking_logo, "put the logo there")
        return (self._logo,)

    @property
    def lacking_logo(self) -> str:
        """What is wrong with the logo; empty where nothing is."""
        if self.brand.logo is None or self._logo is not None:
            return ""
        return f"there is no {self.brand.logo} in {self.root}, nor beside it"

    def reload(self) -> None:
        """Read every file anew when it is next needed: for those who are writing them."""
        self.files.forget()
        self._engines.clear()
        self._templates.clear()
        self.__dict__.pop("_logo", None)

    @cached_property
    def files(self) -> Files:
        with needed("templates need", extra="templates"):
            from postroom.templates.files import Files

        return Files(self.root, self.languages)

    @property
    def _logo_address(self) -> str:
        return f"cid:{_LOGO}.{self.name}"

    @cached_property
    def _logo(self) -> Attachment | None:
        """The picture; None where there is none, which matters only to templates that show it."""
        if self.brand.logo is None:
            return None
        places = (self.root / self.brand.logo, self.root.parent / self.brand.logo)
        for place in places:
            if place.is_file():
                return Attachment(place.name, place.read_bytes(), content_id=f"{_LOGO}.{self.name}")
        return None

    def _add(self, context: type[Context], name: str | None) -> type[Context]:
        from postroom.templates.contract import Contract

        name = checked_name(f"a template of {self.name}", name or template_name(context.__name__))
        if name in self._contexts:
            raise ConfigurationError(f"{self.name}.{name}: its variables are named twice; rename one of the classes")
        self._contracts[name] = Contract(f"{self.name}.{name}", context)
        self._contracts[name].watch()
        self._contexts[name], self._names[context] = context, name
        return context

    def _name_of(self, context: object) -> str:
        name = self._names.get(type(context))
        if name is None:
            known = ", ".join(each.__name__ for each in self._names) or "none yet"
            raise InvalidTemplate(
                self.name,
                f"{type(context).__name__} is no template of this portal",
                f"put @{self.name}.template above it; it has {known}",
            )
        return name

    def _compiled(self, name: str, language: str) -> Template:
        found = self._templates.get((name, language))
        if found is None:
            with needed("templates need", extra="templates"):
                from postroom.templates.template import Template

            found = self._templates[name, language] = Template(
                self._contracts[name],
                name=name,
                language=language,
                files=self.files,
                engine=self._engine(language),
                brand=self._dress(),
            )
        return found

    def _engine(self, language: str) -> Engine:
        """One for each language: layouts and pieces are looked for in it first."""
        chain = self.languages.chain(language)
        if chain not in self._engines:
            from postroom.templates.engine import Engine
            from postroom.templates.files import Loader
            from postroom.templates.locale import filters

            brand = {**asdict(self.brand), "logo": self._logo_address if self.brand.logo else ""}
            known = {
                "brand": brand,
                "portal": self.name,
                "language": language,
                "direction": direction(language),
                "unsubscribe_url": UNSUBSCRIBE_URL,
            }
            self._engines[chain] = Engine(Loader(self.files, chain), known=known, filters=filters(language))
        return self._engines[chain]

    def _dress(self) -> str:
        """All that is not in the files and shows nevertheless."""
        logo = sha256(self._logo.content).hexdigest() if self._logo else ""
        return json.dumps({**asdict(self.brand), "logo": logo}, sort_keys=True)


def template_name(of_class: str) -> str:
    """What the template of a class is called: `forgot_password` of `ForgotPassword`."""
    return _HUMP.sub("_", of_class).lower()


def checked_name(what: str, name: str) -> str:
    """A name that a portal or a template may have; `ConfigurationError` for what is none."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(f"{name!r} cannot be the name of {what}; use small letters, digits and underscores")
    return name


def _located(folder: Path, module: str | None) -> Path:
    """A folder seen from the module that names it; from the working directory where it is not there."""
    beside = Path(module).resolve().parent / folder if module else folder.absolute()
    return folder.absolute() if folder.is_dir() and not beside.is_dir() else beside

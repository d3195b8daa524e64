"""What the page says, in each language. `{address}` is where the masked address stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """The page's words in one language."""

    ask_title: str
    ask: str
    stop_all: str
    """On the button."""
    stop_kind: str
    """On the other button."""
    done_title: str
    done: str
    done_kind: str
    undo: str
    """On the button of whoever has pressed the first by mistake."""
    undone_title: str
    undone: str
    invalid_title: str
    invalid: str
    unclear_title: str
    unclear: str
    away_title: str
    away: str


WORDS: dict[str, Sentences] = {
    "en": Sentences(
        ask_title="Unsubscribe?",
        ask="{address} will get no more newsletters and offers from this sender. "
        "What you ask for yourself, such as receipts and codes, still arrives.",
        stop_all="Unsubscribe",
        stop_kind="Stop only emails like this one",
        done_title="You are unsubscribed",
        done="{address} will get no more newsletters and offers from this sender.",
        done_kind="{address} will get no more emails like this one.",
        undo="I pressed this by mistake",
        undone_title="You will get these emails again",
        undone="What was recorded by this link for {address} has been taken back.",
        invalid_title="This link is not valid",
        invalid="A part of it may have been lost on the way. "
        "Open the link in the email once more, or reply to the email and ask the sender to stop.",
        unclear_title="Nothing was changed",
        unclear="We could not read what was asked for. Please press the button.",
        away_title="This did not work just now",
        away="Your wish could not be recorded. Please press the button again in a minute.",
    ),
    "de": Sentences(
        ask_title="Abmelden?",
        ask="{address} bekommt keine Newsletter und Angebote von diesem Absender mehr. "
        "Was Sie selbst anfordern, etwa Belege und Codes, kommt weiterhin an.",
        stop_all="Abmelden",
        stop_kind="Nur E-Mails wie diese abbestellen",
        done_title="Sie sind abgemeldet",
        done="{address} bekommt keine Newsletter und Angebote von diesem Absender mehr.",
        done_kind="{address} bekommt keine E-Mails wie diese mehr.",
        undo="Das war ein Versehen",
        undone_title="Sie bekommen diese E-Mails wieder",
        undone="Was über diesen Link für {address} vermerkt wurde, ist zurückgenommen.",
        invalid_title="Dieser Link ist nicht gültig",
        invalid="Vielleicht ist unterwegs ein Teil davon verloren gegangen. "
        "Öffnen Sie den Link in der E-Mail noch einmal, oder antworten Sie auf die E-Mail und bitten Sie den Absender, "
        "nicht mehr zu schreiben.",
        unclear_title="Es wurde nichts geändert",
        unclear="Wir konnten nicht lesen, was gewünscht ist. Bitte drücken Sie den Knopf.",
        away_title="Das hat gerade nicht geklappt",
        away="Ihr Wunsch konnte nicht vermerkt werden. Bitte drücken Sie den Knopf in einer Minute noch einmal.",
    ),
    "fr": Sentences(
        ask_title="Se désabonner ?",
        ask="{address} ne recevra plus de lettres d’information ni d’offres de cet expéditeur. "
        "Ce que vous demandez vous-même, comme les reçus et les codes, continuera d’arriver.",
        stop_all="Se désabonner",
        stop_kind="Arrêter seulement les e-mails comme celui-ci",
        done_title="Vous êtes désabonné",
        done="{address} ne recevra plus de lettres d’information ni d’offres de cet expéditeur.",
        done_kind="{address} ne recevra plus d’e-mails comme celui-ci.",
        undo="J’ai appuyé par erreur",
        undone_title="Vous recevrez de nouveau ces e-mails",
        undone="Ce qui a été enregistré par ce lien pour {address} a été annulé.",
        invalid_title="Ce lien n’est pas valable",
        invalid="Une partie du lien s’est peut-être perdue en route. "
        "Ouvrez encore une fois le lien dans l’e-mail, ou répondez à l’e-mail pour demander à l’expéditeur d’arrêter.",
        unclear_title="Rien n’a été modifié",
        unclear="Nous n’avons pas pu lire la demande. Veuillez appuyer sur le bouton.",
        away_title="Cela n’a pas fonctionné pour l’instant",
        away="Votre demande n’a pas pu être enregistrée. Veuillez appuyer de nouveau sur le bouton dans une minute.",
    ),
    "es": Sentences(
        ask_title="¿Darse de baja?",
        ask="{address} no recibirá más boletines ni ofertas de este remitente. "
        "Lo que usted mismo pida, como recibos y códigos, seguirá llegando.",
        stop_all="Darse de baja",
        stop_kind="Dejar de recibir solo correos como este",
        done_title="Se ha dado de baja",
        done="{address} no recibirá más boletines ni ofertas de este remitente.",
        done_kind="{address} no recibirá más correos como este.",
        undo="Lo he pulsado por error",
        undone_title="Volverá a recibir estos correos",
        undone="Lo que se anotó con este enlace para {address} se ha anulado.",
        invalid_title="Este enlace no es válido",
        invalid="Puede que una parte se haya perdido por el camino. "
        "Abra otra vez el enlace del correo, o responda al correo y pida al remitente que no le escriba más.",
        unclear_title="No se ha cambiado nada",
        unclear="No hemos podido leer lo que se pedía. Pulse el botón, por favor.",
        away_title="Ahora mismo no ha funcionado",
        away="No se ha podido anotar su petición. Pulse el botón otra vez dentro de un minuto, por favor.",
    ),
    "it": Sentences(
        ask_title="Annullare l’iscrizione?",
        ask="{address} non riceverà più newsletter e offerte da questo mittente. "
        "Ciò che chiede lei stesso, come ricevute e codici, continuerà ad arrivare.",
        stop_all="Annulla l’iscrizione",
        stop_kind="Interrompi solo le email come questa",
        done_title="L’iscrizione è annullata",
        done="{address} non riceverà più newsletter e offerte da questo mittente.",
        done_kind="{address} non riceverà più email come questa.",
        undo="Ho premuto per errore",
        undone_title="Riceverà di nuovo queste email",
        undone="Ciò che era stato registrato con questo link per {address} è stato annullato.",
        invalid_title="Questo link non è valido",
        invalid="Una parte potrebbe essere andata persa. "
        "Apra di nuovo il link nell’email, oppure risponda all’email e chieda al mittente di non scrivere più.",
        unclear_title="Non è stato cambiato nulla",
        unclear="Non siamo riusciti a leggere la richiesta. Prema il pulsante, per favore.",
        away_title="In questo momento non ha funzionato",
        away="La sua richiesta non è stata registrata. Prema di nuovo il pulsante tra un minuto, per favore.",
    ),
    "pt": Sentences(
        ask_title="Cancelar a subscrição?",
        ask="{address} deixará de receber newsletters e ofertas deste remetente. "
        "O que pedir por si, como recibos e códigos, continuará a chegar.",
        stop_all="Cancelar a subscrição",
        stop_kind="Parar apenas e-mails como este",
        done_title="A subscrição foi cancelada",
        done="{address} deixará de receber newsletters e ofertas deste remetente.",
        done_kind="{address} deixará de receber e-mails como este.",
        undo="Carreguei por engano",
        undone_title="Voltará a receber estes e-mails",
        undone="O que foi registado através deste link para {address} foi anulado.",
        invalid_title="Este link não é válido",
        invalid="Uma parte pode ter-se perdido pelo caminho. "
        "Abra o link no e-mail outra vez, ou responda ao e-mail e peça ao remetente que deixe de escrever.",
        unclear_title="Nada foi alterado",
        unclear="Não conseguimos ler o pedido. Carregue no botão, por favor.",
        away_title="De momento não funcionou",
        away="O seu pedido não pôde ser registado. Carregue no botão outra vez daqui a um minuto, por favor.",
    ),
    "nl": Sentences(
        ask_title="Uitschrijven?",
        ask="{address} krijgt geen nieuwsbrieven en aanbiedingen meer van deze afzender. "
        "Wat u zelf aanvraagt, zoals bonnen en codes, komt nog wel aan.",
        stop_all="Uitschrijven",
        stop_kind="Alleen e-mails zoals deze stoppen",
        done_title="U bent uitgeschreven",
        done="{address} krijgt geen nieuwsbrieven en aanbiedingen meer van deze afzender.",
        done_kind="{address} krijgt geen e-mails zoals deze meer.",
        undo="Ik drukte per ongeluk",
        undone_title="U krijgt deze e-mails weer",
        undone="Wat via deze link voor {address} is vastgelegd, is teruggedraaid.",
        invalid_title="Deze link is niet geldig",
        invalid="Misschien is er onderweg een deel van verloren gegaan. "
        "Open de link in de e-mail nog een keer, of beantwoord de e-mail en vraag de afzender om te stoppen.",
        unclear_title="Er is niets gewijzigd",
        unclear="We konden niet lezen wat er werd gevraagd. Druk alstublieft op de knop.",
        away_title="Dit lukte nu even niet",
        away="Uw wens kon niet worden vastgelegd. Druk over een minuut alstublieft nog een keer op de knop.",
    ),
    "pl": Sentences(
        ask_title="Zrezygnować z subskrypcji?",
        ask="Na adres {address} nie będą już przychodzić newslettery ani oferty od tego nadawcy. "
        "To, o co poprosisz samodzielnie, na przykład rachunki i kody, nadal będzie przychodzić.",
        stop_all="Zrezygnuj z subskrypcji",
        stop_kind="Zrezygnuj tylko z takich wiadomości jak ta",
        done_title="Subskrypcja została anulowana",
        done="Na adres {address} nie będą już przychodzić newslettery ani oferty od tego nadawcy.",
        done_kind="Na adres {address} nie będą już przychodzić takie wiadomości jak ta.",
        undo="To było przez pomyłkę",
        undone_title="Te wiadomości znów będą przychodzić",
        undone="Cofnięto to, co za pomocą tego linku zapisano dla {address}.",
        invalid_title="Ten link jest nieprawidłowy",
        invalid="Być może jego część zgubiła się po drodze. "
        "Otwórz link w wiadomości jeszcze raz albo odpowiedz na wiadomość i poproś nadawcę, aby przestał pisać.",
        unclear_title="Nic nie zostało zmienione",
        unclear="Nie udało się odczytać prośby. Naciśnij przycisk.",
        away_title="W tej chwili się nie udało",
        away="Nie udało się zapisać prośby. Naciśnij przycisk ponownie za minutę.",
    ),
    "ar": Sentences(
        ask_title="هل تريد إلغاء الاشتراك؟",
        ask="لن تصل إلى {address} أي نشرات أو عروض أخرى من هذا المرسل. "
        "أما ما تطلبه بنفسك، مثل الإيصالات والرموز، فسيستمر وصوله.",
        stop_all="إلغاء الاشتراك",
        stop_kind="إيقاف الرسائل المشابهة لهذه فقط",
        done_title="تم إلغاء اشتراكك",
        done="لن تصل إلى {address} أي نشرات أو عروض أخرى من هذا المرسل.",
        done_kind="لن تصل إلى {address} رسائل أخرى مشابهة لهذه.",
        undo="ضغطت على الزر بالخطأ",
        undone_title="ستصلك هذه الرسائل من جديد",
        undone="تم التراجع عما سُجّل عبر هذا الرابط للعنوان {address}.",
        invalid_title="هذا الرابط غير صالح",
        invalid="ربما ضاع جزء منه في الطريق. "
        "افتح الرابط الموجود في الرسالة مرة أخرى، أو رُدّ على الرسالة واطلب من المرسل أن يتوقف.",
        unclear_title="لم يتغير شيء",
        unclear="تعذّرت علينا قراءة الطلب. يُرجى الضغط على الزر.",
        away_title="لم ينجح ذلك الآن",
        away="تعذّر تسجيل طلبك. يُرجى الضغط على الزر مرة أخرى بعد دقيقة.",
    ),
    "ja": Sentences(
        ask_title="配信を停止しますか？",
        ask="{address} には、この送信者からのニュースレターやご案内が届かなくなります。"
        "領収書や認証コードなど、ご自身が求めたメールは引き続き届きます。",
        stop_all="配信を停止する",
        stop_kind="このようなメールだけを停止する",
        done_title="配信を停止しました",
        done="{address} には、この送信者からのニュースレターやご案内が届かなくなります。",
        done_kind="{address} には、このようなメールが届かなくなります。",
        undo="間違えて押しました",
        undone_title="メールの配信を再開しました",
        undone="このリンクによる {address} の停止を取り消しました。",
        invalid_title="このリンクは無効です",
        invalid="リンクの一部が欠けている可能性があります。"
        "メール内のリンクをもう一度開くか、メールに返信して送信者に停止をお申し出ください。",
        unclear_title="何も変更されていません",
        unclear="ご希望の内容を読み取れませんでした。ボタンを押してください。",
        away_title="ただいま処理できませんでした",
        away="ご希望を記録できませんでした。１分ほどしてから、もう一度ボタンを押してください。",
    ),
}

RIGHT_TO_LEFT = frozenset(("ar",))
DEFAULT = "en"


def chosen_language(wanted: str, accepted: str) -> str:
    """That of the email if the page speaks it, else the first such that the browser asks for, else English."""
    spoken = (_base(each) for each in (wanted, *_in_order(accepted)))
    return next((language for language in spoken if language in WORDS), DEFAULT)


def _in_order(accepted: str) -> list[str]:
    """The languages of `Accept-Language`, the dearest first; those that are not wanted at all left out."""
    found = []
    for each in accepted[:500].split(","):
        name, _, weight = each.partition(";")
        try:
            dear = float(weight.strip().removeprefix("q=") or 1)
        except ValueError:
            dear = 0.0
        if dear > 0:
            found.append((dear, name))
    return [name for _, name in sorted(found, key=lambda pair: -pair[0])]


def _base(language: str) -> str:
    return language.strip().lower().partition("-")[0]

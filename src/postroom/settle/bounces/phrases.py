"""Words by which mail systems say why an email did not arrive, in lower case and with single spaces.

A phrase is searched for as it stands, so that it costs no more than its length. Where one would be found in sentences
that mean something else, more of its sentence is written here.
"""

from __future__ import annotations


def _phrases(written: str) -> tuple[str, ...]:
    """Phrases between upright strokes; a line with `#` tells what follows."""
    lines = (line.rstrip("|") for line in written.splitlines() if not line.startswith("#"))
    return tuple(phrase.strip() for line in lines for phrase in line.split("|") if phrase.strip())


FULL = _phrases("""
mailbox full | mailbox is full | mailbox was full | mailbox too full | mailfolder is full | inbox is full |
inbox full | maildir over quota | account is full | account full | over quota | overquota | over the quota |
over its quota | over their quota | quota exceed | quota has been exceed | quota is exceed | quota reached |
quota violation | quota limit | out of quota | out of storage | quota full | not enough storage |
insufficient quota | exceeded quota | exceeds quota | exceeded storage | exceed the quota | exceed mailbox |
exceeded its storage | exceeded the storage | exceeded his quota | exceeds the maximum mailbox |
exceeds allowed quota | exceeded their quota | disk quota | storage quota | mailbox size limit |
mailbox full error | full mailbox | mailbox has exceeded | no space left on user | storage limit | storage space |
too much mail data | boite pleine | not enough disk space | enough space | out of space | insufficient space |
exceed the limit of the mailbox | mailbox exceeds | has reached its limit | mailbox over limit | mailbox limit |
postfach ist voll | postfach voll | speicherplatz | kontingent | boîte aux lettres pleine | boîte pleine |
boite aux lettres pleine | buzón lleno | buzon lleno | mailbox lleno | casilla llena | casella piena |
caixa cheia | caixa postal cheia |
skrzynka pełna | postvak is vol | ящик переполнен | переполнен | メールボックスがいっぱい | 容量を超え |
受信容量 | 邮箱已满 | 信箱已满 | 空间不足 | user is overquota | recipient overquota | mailbox quota |
message would exceed | exceeds mailbox
""")
"""The mailbox is there, and has no room."""

REFUSED = _phrases("""
# Blocks and reputations
helo | ehlo | suppress | invalid domain, see | from: domain | sender | is listed | was listed | mx records for |
recipient not accepted | refuse | your network | your server | your host | your domain | not subscribed |
members-only | non-member | verify | bounced address | only accepting | preferences | you have been | you are not |
restrict | purported | unsigned dsn | batv | backscatter | null sender | blocked | blacklist | black list | blocklist |
block list | denylist | deny list | dnsbl | spamhaus | spamcop | barracudacentral | sorbs | reputation |
senderbase | been listed | are listed | currently listed | listed by | banned | not in whitelist |
not whitelisted | greylist | graylist | grey-list | grey list | temporarily rejected | ip address has been |
client host rejected | client host [ | sender rejected | sender address rejected | sender denied |
sender verify failed | sender verification | verify sender | sender is not allowed | sender not allowed |
reverse dns | reverse lookup | ptr record | no ptr | helo command rejected | rdns | cannot find your hostname |
cannot find your reverse | cannot resolve your | invalid helo | fcrdns | domain of sender | sender domain |
sender's domain | domain of the sender | senders domain | sender address | bad sender | unknown sender |
invalid sender | return path | return-path | return address | callout | callback | envelope |
mail from rejected | in mail from | from address | your hostname | in reverse | invalid dns | dynamic ip |
residential | dial-up | dialup |
connection refused | your access to submit | your access to this mail system | access from ip | your ip | ip rejected |
bad ip
# Spam and content
spam | unsolicited | junk mail | bulk mail | suspicious | suspect | phish | virus | malware | infected |
content filter | content reject | content of | content was | message content | content policy | bad content |
looks like | attachment | url in | links in | malicious | prohibited | objectionable | undesirable |
message rejected | message refused | message was rejected | mail rejected | mail refused | message blocked |
rejected your message | rejected the message | rejected by header | rejected by filter | message not accepted |
not accepted for policy | rejected by policy | rejected for policy | administrative | prohibition | policy |
policies | moderat | not a member | not allowed to post | not permitted to | permission |
not authorized | not authorised | unauthorized | authorization | authentication | unauthenticated |
auth required | authenticat | dmarc | dkim | sender policy framework | starttls | encryption |
certificate | 5322 | rfc5322 | rfc 5322 | rfc2822 | rfc 2822 | bare lf | bare cr | smtputf8 | 8bitmime |
syntax error | header | duplicate | multiple from | malformed message | invalid message | from header |
message-id | restricted | only accepts | accepts only | does not accept messages from |
not accepting messages from | not accepting mail from | does not accept mail from | don't accept mail from |
refuse to accept | refused by
# Sizes and numbers
too large | too big | too long | message size | size limit | exceeds size | maximum size | exceeds the size |
size exceed | larger than | exceeds fixed | maximum message | max message | exceeds maximum | message exceeds |
too many | too much | too fast | too quickly | rate limit | ratelimit | rate-limit | throttl | exceeded |
excessive | limit reached | over limit | hourly limit | daily limit | per hour | per day | unusual rate |
concurrent | frequency | try again later | try later | please try again | retry later | temporar
# Relaying
rcpthosts | relay | we do not relay | not permitted to relay | not configured to | gateway
# The system
insufficient system | system resources | no space left | disk full | disk space | out of memory | overload |
server busy | too busy | service unavailable | service not available | service is unavailable | system error |
internal error | server error | local error | configuration error | misconfigur | software error | i/o error |
system is currently | unable to process | processing error | resources temporarily | command output | pipe to |
exit code | exit status | procmail | cannot open | can't create | can't open | command died | died with status |
mail loop | loops back | looping | hop count | hops exceeded | routing loop | forwarding loop |
delivered-to header | loop detected | protocol error
# The way
dns records for | dns soft | soft error | unable to resolve route | try again | timed out | timeout |
time out | time-out | expired | expire | could not connect | couldn't connect | cannot connect |
unable to connect | can't connect | connection reset | connection was | connection failed | connection timed |
connection lost | connection dropped | connection to | lost connection | connect to | conversation with |
no route to | network is unreachable | network unreachable | network error | host unreachable |
host is unreachable | not reachable | unreachable | undeliverable for | retry time | retries | max retry |
queue too long | been in the queue | has been queued | still trying | delayed | deferred |
not been able to deliver | maximum time | try again | server failure | servfail | name server timeout |
nameserver timeout | dns timeout | temporary lookup | lookup failed | lookup failure | dns error |
malformed or unexpected name server | not responding | no answer | did not respond | hung up
# The account is there, and not in use
terminated | discontinued | archived | archivee | archivé | no longer accept | access denied |
not accepting any mail | extended inactivity | mailbox is unavailable | account closed | no longer available |
resiliated | résilié | suspend | inactive | not active | not been active | deactivated | not activated |
disabled | locked | frozen | on hold | temporarily unavailable | currently unavailable | dormant | unpaid |
expired account | account has been | account is closed | out of service | domain is not active | recently |
not logged in | no longer in use by | vacation | gesperrt | deaktiviert | inactif | désactivé | suspendu |
desactivad | отключ | заблокир | неактив
# Others' tongues
abgelehnt wegen | zu groß | zu gross | trop gros | trop volumineux | demasiado grande | refusé | rejeté pour |
absender | expéditeur | remitente | mittente | remetente | afzender | avsändar | afsender | avsender | nadawc |
отправител | gönderen | 送信者 | 发件人 | 寄件人 | 발신자 | bloqué | blockiert | bloqueado | bloccato | спам |
слишком больш | スパム | 迷惑メール | 大きすぎ | サイズ |
一時的 | 拒否 | 权限 | 垃圾 | 频率 | 投稿する権限
""")
"""It was refused or lost for something that may be otherwise the next time."""

REFUSED_WORDS = frozenset(
    _phrases("""
rbl | rbls | tls | spf | mime | rule | rules | ruleset | scan | scans | scanned | scanner | scanning | loop |
loops | looped | cname | ptr
""")
)
"""The same, in words so short that they stand within others: «Marble» is no list of spammers."""

ABSENT_DOMAIN = _phrases("""
host unknown | unknown host | unknown domain | domain unknown | no such domain | no such host | nxdomain |
host not found | domain not found | domain name not found | domain does not exist | domain doesn't exist |
host does not exist | illegal host | domain could not be found | domain couldn't be found |
couldn't find any host named | could not find any host | couldn't find any host by that name |
bad destination system | nonexistent domain | non-existent domain | non-existent host | name or domain not found |
unrouteable mail domain | unroutable domain | unresolvable domain | recipient domain not found |
all relevant mx records point to non-existent | domain part of the address is invalid |
domain name does not exist | dns hard | couldn't find a mail exchanger | could not find a mail exchanger |
no valid host | unrouteable address | unroutable address | name or service not known | domain must exist |
no mx found | no mx record found for domain | mail receiving disabled | has no mail exchanger |
host/domain is unknown | no mx or a records for
""")

UNWILLING_DOMAIN = _phrases("""
null mx | nullmx | domain does not accept | host does not accept | host/domain does not accept |
domain accepts no | host accepts no mail | domain does not receive | domain never sends or receives
""")
"""A domain that never takes mail, RFC 7505."""

MOVED = _phrases("""
user has moved | user moved | mailbox has moved | mailbox moved | recipient has moved | recipient moved |
account has moved | addressee has moved | person has moved | email address has changed | e-mail address has changed |
mail address has changed | mailbox address has changed | recipient address has changed | address has changed to |
address changed to | address has been changed to | address has been replaced by | mailbox has been replaced by
""")
"""Somebody, not something: platforms and terms change and move too."""

ABSENT_SURELY = _phrases("""
not listed in domino directory | not listed in public name | not listed in address book |
ディレクトリのリストにありません | not listed in lotus notes | delivery error: dd this user |
requested action not taken: mailbox unavailable | recipname not unique or not found |
the recipient name is not recognized | invalid final delivery userid | user name not listed in |
destinataire invalide
""")
"""Words that only somebody says who has looked the mailbox up, whatever they reply to."""

ABSENT_TOLD = _phrases("""
because the address couldn't be found | weil die adresse nicht gefunden wurde | car l'adresse est introuvable |
porque no se ha encontrado la dirección | perché l'indirizzo non è stato trovato | omdat het adres niet is gevonden |
omdat het adres niet kan worden gevonden | porque o endereço não foi encontrado |
eftersom adressen inte hittades | fordi adressen ikke blev fundet | ponieważ nie znaleziono adresu
""")
"""A large provider's own sentences in notices that give no reply of the other end."""

ABSENT_NAMED = _phrases("""
user unknown | unknown user | no such user | no such recipient | no such mailbox | no such address here |
no such person | no such account | no such local user | user not found | recipient not found | mailbox not found |
user does not exist | user doesn't exist | user not exist | recipient does not exist | recipient doesn't exist |
mailbox does not exist | mailbox doesn't exist | account that you tried to reach does not | unknown recipient |
recipient unknown | unknown mailbox | mailbox unknown | local user unknown | unknown local user | invalid recipient |
invalid mailbox | not a local user | no mailbox here | no mailbox found | no user here | user not known |
user is unknown | recipient is unknown | user could not be found | recipient could not be found |
mailbox could not be found
""")
"""Of those that follow, the ones that say of whom. «It does not exist» may be said of a sender, a link, a key."""

ABSENT_USER = _phrases("""
non esistente | no longer employed | no longer with this company | no longer works | user not local; please try |
user unknown | unknown user | no such user | no such recipient | no such mailbox | no such address |
no such person | no such account | no such email | no such local | no such name | no such id | no such uid |
user isn't found | recipient not found | mailbox not found | address not found | account not found |
user could not be found | recipient could not be found | mailbox could not be found | wasn't found at |
was not found at | couldn't be found | can not be found | cannot be found | not found in directory |
user does not exist | user doesn't exist | user not exist | mailbox does not exist | mailbox doesn't exist |
mailbox not exist | account does not exist | account doesn't exist | account that you tried to reach does not |
address does not exist | address doesn't exist | recipient does not exist | recipient doesn't exist |
does not exist here | doesn't exist here | do not exist | does not exist | doesn't exist | dosn't exist | don't exist |
not exist | is not exist | not exists | doesn't have an account | user has no account | no account by that name |
no mailbox here | no mailbox | isn't a user | not a valid user | not a valid mailbox | not a valid recipient |
not a known user | not a valid address | is not a known | is not known | is unknown | unknown recipient |
recipient unknown | unknown address | address unknown | unknown mailbox | mailbox unknown | unknown account |
account unknown | unknown local | local user unknown | unknown or illegal | unknown or invalid | unknown email |
unknown virtual | undefined mail alias | unknown in virtual | unknown in local | unknown in relay |
in virtual mailbox table | in local recipient table | in relay recipient table | in virtual alias table |
invalid recipient | invalid mailbox | invalid user | invalid address | invalid account | invalid local |
recipient invalid | recipient address invalid | address invalid | bad destination mailbox | bad recipient |
bad address | bad mailbox | illegal user | incorrect address | wrong address | recipient address rejected: user |
recipient rejected: user | recipient address rejected: undeliverable address | not listed in | not in our |
not our user | not our customer | not one of our | no valid recipient | user not known | not known here |
name not recognised | name not recognized | address not recognized | recipient not recognized | recipname not |
unable to find user | can't find user | could not find user | there is no user | there is no such | there's no user |
we don't have a user | have no user | has no user | no user here | no user by that name | no one by that name |
no longer exists | mailbox unavailable | email address could not be found | user mailbox not found |
recipient address not found | user unkown | unknow user | no existe | undeliverable address | addressee unknown |
delivery error: dd | this user doesn't have | this user does not have | destinatario sconosciuto |
utente sconosciuto | unbekannter empfänger | empfänger unbekannt | empfaenger unbekannt | unbekannter benutzer |
benutzer unbekannt | adresse unbekannt | existiert nicht | nicht gefunden | gibt es nicht | inconnu |
n'existe pas | inexistant | destinataire inconnu | usuario desconocido | destinatario desconocido |
usuário desconhecido | não existe | desconhecido | onbekend | bestaat niet | okänd | nieznany | nie istnieje |
neexistuje | не найден | не существует | неизвестный | unrouteable address | unroutable address |
no such domain at | not a local user | user not registered | user not found | user is not registered |
address is not configured to receive | usuario no encontrado | destinatario no encontrado | utente non trovato |
destinatario non trovato | usuário não encontrado | destinatário não encontrado | destinataire introuvable |
utilisateur introuvable | adresse introuvable | gebruiker niet gevonden | ontvanger niet gevonden |
mottagaren finns inte | användaren finns inte | användare finns inte | adressen finns inte | modtageren findes ikke |
brugeren findes ikke | adressen findes ikke | mottakeren finnes ikke | brukeren finnes ikke | adressen finnes ikke |
käyttäjää ei löydy | vastaanottajaa ei löydy | osoitetta ei löydy | nie znaleziono użytkownika |
nie znaleziono adresata | nie znaleziono odbiorcy | uživatel nenalezen | adresát nenalezen | příjemce nenalezen |
felhasználó nem létezik | címzett nem létezik | kullanıcı yok | kullanici yok | kullanıcı bulunamadı |
kullanici bulunamadi | alıcı bulunamadı | 사용자를 찾을 수 없 | 수신자를 찾을 수 없 | nav atrasts |
存在しません | 存在しない | 見つかりません | 見つからない | 不存在 | 없는 | 宛先不明 | ユーザが見つ | リストにありません
""")

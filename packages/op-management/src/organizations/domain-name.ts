/** Their providers give addresses to anybody. Regional forms of the same names are refused by their first label. */
const consumerDomains = new Set(
  `gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com ymail.com rocketmail.com aol.com icloud.com me.com mac.com
   proton.me protonmail.com pm.me tutanota.com tuta.io gmx.net gmx.de gmx.com gmx.at gmx.ch web.de t-online.de freenet.de mail.com email.com
   zoho.com zohomail.com fastmail.com fastmail.fm hey.com yandex.com yandex.ru ya.ru mail.ru bk.ru list.ru inbox.ru rambler.ru qq.com foxmail.com
   163.com 126.com sina.com sohu.com naver.com daum.net hanmail.net orange.fr wanadoo.fr free.fr laposte.net sfr.fr libero.it virgilio.it tiscali.it
   comcast.net verizon.net att.net sbcglobal.net btinternet.com sky.com virginmedia.com bigpond.com rediffmail.com uol.com.br bol.com.br terra.com.br
   seznam.cz wp.pl o2.pl interia.pl onet.pl bluewin.ch hushmail.com mailinator.com guerrillamail.com duck.com simplelogin.com`.split(
    /\s+/,
  ),
);
const regionalNames = /^(?:yahoo|hotmail|live|outlook)\./;
const labels = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** 253 without `_edge-op.` */
const longest = 244;

/**
 * **Why an organisation cannot have a domain**; `undefined` if it can. It is compared with domains of addresses byte for byte, so there is one
 * spelling: A-labels in lower case. A name that looks like another one is shown, and proven, as what it is. `tldts` is imported when the first domain
 * is claimed.
 */
export async function domainFault(domain: string): Promise<string | undefined> {
  const spelling = "must be a domain in lower case, with A-labels (xn--) and without a final dot";
  if (domain.length > longest || !labels.test(domain) || !URL.canParse(`http://${domain}`)) return spelling;
  if (new URL(`http://${domain}`).hostname !== domain) return spelling;
  const { parse } = await import("tldts");
  const { domain: registered, isIp } = parse(domain, { allowPrivateDomains: true });
  if (isIp === true) return spelling;
  if (registered === null) return "is a suffix under which others have domains";
  const isConsumers = consumerDomains.has(registered) || regionalNames.test(registered);
  return isConsumers ? "gives addresses to anybody" : undefined;
}

import { brandColors, type ColorScheme, tint } from "./brand-colors.ts";
import { fontStacks, type Look } from "./look.ts";

/** The brand's colours as variables of the style sheet. */
function derivedColors(brand: string, ground: string, scheme: ColorScheme): string {
  const colors = brandColors(brand, ground, scheme);
  return `--brand: ${colors.brand}; --on-brand: ${colors.onBrand}; --brand-hover: ${colors.hover}; --brand-edge: ${colors.edge}; --brand-text: ${colors.brandText};
    --ground: ${ground}; --on-ground: ${colors.onGround}; --ground-link: ${colors.groundLink}; --card: ${colors.card}; --danger-ground: ${colors.danger}; --good-ground: ${colors.good};
    --text: ${colors.text}; --muted: ${colors.muted}; --line: ${colors.line};`;
}

/**
 * **The one style sheet**, in the deployment's look: light and dark schemes, phone to desktop, visible focus. Lines of Japanese break between
 * phrases, those of Korean between words. Letters of Arabic are joined, so no space is between them.
 */
export function styleSheet({
  brandColor,
  brandColorDark,
  background,
  backgroundDark,
  cornerRadius,
  font,
}: Look): string {
  return compact(`
:root {
  color-scheme: light dark;
  --radius: ${cornerRadius}px;
  ${derivedColors(brandColor, background, "light")}
  --field: #ffffff; --field-line: #8a94a6;
  --danger: #b3261e; --good: #14683c;
  --shadow: 0 1px 2px rgb(16 24 40 / 6%), 0 12px 32px rgb(16 24 40 / 8%);
}
@media (prefers-color-scheme: dark) {
  :root {
    ${derivedColors(brandColorDark, backgroundDark, "dark")}
    --field: #11151c; --field-line: #6d778a;
    --danger: #ffb4ab; --good: #8fdcb0;
    --shadow: 0 1px 2px rgb(0 0 0 / 40%), 0 12px 32px rgb(0 0 0 / 35%);
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.5 ${fontStacks[font]}; overflow-wrap: break-word; text-wrap: pretty; }
:root:lang(ja) { word-break: auto-phrase; }
:root:lang(ko) { word-break: keep-all; }
.page { min-height: 100vh; min-height: 100dvh; display: flex; flex-direction: column; align-items: center; justify-content: center; gap: 1rem; padding: 1.25rem 1rem; }
.brand { color: var(--on-ground); display: flex; align-items: center; gap: .625rem; font-weight: 600; font-size: 1.0625rem; letter-spacing: -.01em; }
.brand img { display: block; height: 2rem; width: auto; min-width: 0; max-width: min(14rem, 60vw); border-radius: min(8px, calc(var(--radius) * .8)); object-fit: contain; }
.card { width: 100%; max-width: 26rem; background: var(--card); border: 1px solid var(--line); border-radius: calc(var(--radius) * 1.8); box-shadow: var(--shadow); padding: 1.75rem 2rem 1.5rem; }
.card.wide { max-width: 40rem; }
.card.full { max-width: 60rem; }
.sections { display: flex; flex-wrap: wrap; justify-content: center; gap: .25rem .375rem; max-width: 60rem; font-size: .9375rem; }
.sections a { display: inline-flex; align-items: center; min-height: 2.5rem; padding: .25rem .75rem; border-radius: var(--radius); color: var(--ground-link); text-decoration: none; }
.sections a[aria-current] { color: var(--text); background: var(--card); font-weight: 600; }
.sections :focus-visible { outline-color: var(--ground-link); }
footer { font-size: .875rem; }
footer .own { flex: 1 0 100%; max-width: 40rem; color: var(--on-ground); text-align: center; overflow-wrap: anywhere; }
footer a, footer button.link { color: var(--ground-link); }
footer :focus-visible { outline-color: var(--ground-link); }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; letter-spacing: -.02em; text-wrap: balance; }
h2 { margin: 2rem 0 .25rem; font-size: 1.0625rem; letter-spacing: -.01em; }
.title { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .375rem 1rem; margin: 1.75rem 0 .25rem; }
.title h2 { margin: 0; }
h3 { margin: 1rem 0 0; font-size: .9375rem; }
[dir=rtl] :is(h1, h2, .brand) { letter-spacing: normal; }
strong, dd, .brand span, input[type=text] { unicode-bidi: plaintext; }
p { margin: .375rem 0 0; }
.muted { color: var(--muted); }
.center { text-align: center; margin-top: 1rem; }
.asks { margin: 0 0 .625rem; font-weight: 550; overflow-wrap: anywhere; }
.small { font-size: .875rem; }
.head { text-align: center; margin-bottom: 1.125rem; overflow-wrap: anywhere; }
.head:last-child { margin-bottom: .25rem; }
.card.wide .head { text-align: start; }
.mark { width: 48px; height: 48px; margin: 0 auto .625rem; display: flex; align-items: center; justify-content: center; border-radius: calc(var(--radius) * 1.4); background: color-mix(in srgb, var(--brand-text) ${tint * 100}%, var(--card)); color: var(--brand-text); font-size: 1.375rem; font-weight: 650; }
.mark.logo { width: auto; min-width: 48px; max-width: 12rem; background: none; }
.mark img { position: relative; display: block; min-width: 48px; max-width: 100%; height: 48px; border: 1px solid var(--line); border-radius: calc(var(--radius) * 1.4); object-fit: contain; }
.mark.letter { flex: none; width: 1.5rem; height: 1.5rem; margin: 0; margin-inline-end: .5rem; border-radius: calc(var(--radius) * .6); font-size: .875rem; }
.provider { flex: none; width: 1.25rem; height: 1.25rem; margin-inline-end: .625rem; }
.mark.letter::before { content: attr(data-letter); }
.mark img::after { content: attr(alt); position: absolute; inset: -1px; display: flex; border-radius: calc(var(--radius) * 1.4); align-items: center; justify-content: center; background: color-mix(in srgb, var(--brand-text) ${tint * 100}%, var(--card)); }
label { display: block; margin: .75rem 0 .25rem; font-size: .9375rem; font-weight: 550; }
input[type=text], input[type=email], input[type=password], input[type=datetime-local] { width: 100%; min-height: 2.75rem; padding: .5rem .875rem; font: inherit; color: inherit; background: var(--field); border: 1px solid var(--field-line); border-radius: var(--radius); }
select, textarea { width: 100%; min-height: 2.75rem; padding: .5rem .875rem; font: inherit; color: inherit; background: var(--field); border: 1px solid var(--field-line); border-radius: var(--radius); }
textarea { font-family: ui-monospace, "SF Mono", "Liberation Mono", monospace; font-size: .875rem; }
.search { display: flex; flex-wrap: wrap; align-items: end; gap: .625rem; }
.search > div { flex: 1 1 14rem; }
.search > details { flex: 1 1 100%; margin: 0; }
.search label { margin-top: 0; }
.search input[type=text], .search input[type=datetime-local], .search select { min-height: 2.5rem; }
input[readonly] { background: color-mix(in srgb, var(--line) 45%, var(--card)); color: var(--muted); }
input[aria-invalid=true] { border-color: var(--danger); }
button, .button { display: flex; align-items: center; justify-content: center; width: 100%; min-height: 2.75rem; padding: .5rem 1rem; font: inherit; font-weight: 600; text-align: center; overflow-wrap: anywhere; text-decoration: none; color: var(--on-brand); background: var(--brand); border: 1px solid var(--brand-edge); border-radius: var(--radius); cursor: pointer; transition: background .12s; }
button:hover, .button:hover { background: var(--brand-hover); }
button.quiet, .button.quiet { color: var(--text); background: transparent; border-color: var(--field-line); }
button.quiet:hover, .button.quiet:hover { background: color-mix(in srgb, var(--text) 6%, transparent); }
button.plain { color: var(--muted); background: none; border-color: transparent; font-weight: 500; }
button.plain:hover { color: var(--text); }
button.link { display: inline-flex; width: auto; min-height: 2.5rem; padding: .25rem .5rem; color: var(--brand-text); background: none; border: 0; font-size: .875rem; font-weight: 500; text-decoration: underline; text-underline-offset: .2em; }
button[aria-busy=true], form[data-sent] button { cursor: progress; }
button[aria-busy=true]:not(.link, .slim)::after { content: ""; flex: none; width: 1em; height: 1em; margin-inline-start: .625rem; border: 2px solid; border-inline-end-color: transparent; border-radius: 50%; animation: turn .7s linear infinite; }
button.link[aria-busy=true], button.slim[aria-busy=true] { text-decoration: underline dotted; }
@keyframes turn { to { rotate: 1turn; } }
button.link[aria-pressed] { padding-inline: 0; }
button.link[aria-pressed=true] { text-decoration-style: double; }
button.filled.danger { color: var(--card); background: var(--danger); border-color: transparent; }
.top { margin-top: 1rem; }
.preview { display: flex; flex-wrap: wrap; gap: .625rem; margin: 1.25rem 0 0; }
.preview figcaption { flex: 1 0 100%; font-weight: 600; }
.preview iframe { flex: 1 1 18rem; min-width: 0; height: 38rem; border: 1px solid var(--line); border-radius: var(--radius); }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
button.slim, .button.slim { width: auto; min-height: 2.5rem; max-width: 100%; padding: .375rem .875rem; font-size: .875rem; }
ul.list .button, ul.list button, ul.list .row { flex: none; max-width: 60%; }
ul.list .row > * { max-width: 100%; }
ul.list.accounts li { gap: .25rem; padding: .3125rem 0; border: 0; }
ul.list.accounts li > form:first-child { flex: 1; min-width: 0; }
ul.list.accounts button { max-width: 100%; }
.pick { justify-content: flex-start; gap: .75rem; text-align: start; font-weight: 400; }
.pick span + span { min-width: 0; }
.pick .small { display: block; }
button.danger, .button.danger { color: var(--danger); background: none; border-color: var(--line); }
:focus-visible { outline: 3px solid var(--brand-text); outline-offset: 2px; }
a { color: var(--brand-text); text-underline-offset: .2em; }
.actions { margin-top: 1.25rem; display: flex; flex-direction: column; gap: .625rem; }
.row { display: flex; gap: .625rem; }
.row.wrap { flex-wrap: wrap; }
.stack { display: flex; flex-direction: column; align-items: stretch; gap: .625rem; }
.ways + .links { margin-top: 0; }
.ways { display: flex; flex-wrap: wrap; justify-content: center; gap: 0 .75rem; margin-top: .75rem; }
.providers { display: flex; flex-wrap: wrap; gap: .625rem; }
.providers button { flex: 1 1 8rem; width: auto; padding-inline: .625rem; font-size: .9375rem; }
.credentials { display: grid; grid-template-columns: max-content minmax(0, 1fr); column-gap: 1rem; }
.credentials > * { grid-column: 1 / -1; }
.credentials > label[for=password] { grid-area: 3 / 1; }
.credentials > label:first-of-type { margin-top: 0; grid-row: 1; }
.credentials > #username { grid-row: 2; }
.credentials > #rename { grid-area: 2 / 2; place-self: center end; margin-inline-end: .375rem; }
.credentials > #username:has(~ #rename) { padding-right: 5.5rem; text-overflow: ellipsis; }
[dir=rtl] .credentials > #username:has(~ #rename) { padding: .5rem .875rem .5rem 5.5rem; text-align: right; }
.credentials > #forgot { grid-area: 3 / 2; place-self: end; padding-inline: 0; text-align: end; }
.credentials > .secret-field { grid-row: 4; }
.credentials > #sign-in { grid-row: 5; margin-top: 1.125rem; }
.secret-field { position: relative; }
.secret-field input { padding-inline-end: 6.5rem; }
.secret-field button.link { position: absolute; inset-block: 1px; inset-inline-end: .875rem; }
.or { display: flex; align-items: center; gap: .75rem; margin: .5rem 0; color: var(--muted); font-size: .875rem; }
.or::before, .or::after { content: ""; flex: 1; height: 1px; background: var(--line); }
.note { margin: 0 0 1.25rem; padding: .75rem 1rem; border-radius: var(--radius); font-size: .9375rem; background: color-mix(in srgb, var(--line) 45%, var(--card)); }
.note.source { background: none; border: 1px solid var(--line); overflow-wrap: anywhere; }
.note.bad { color: var(--danger); background: var(--danger-ground); }
.note.good { color: var(--good); background: var(--good-ground); }
.person { display: inline-flex; align-items: center; gap: .5rem; max-width: 100%; margin-top: .875rem; padding-block: .25rem; padding-inline: .3125rem .75rem; border: 1px solid var(--line); border-radius: 999px; font-size: .875rem; color: var(--muted); }
.person span + span { overflow-wrap: anywhere; text-align: start; }
.switch { display: inline-block; }
.person:has(+ .switch) { margin-inline-end: .75rem; }
.avatar { flex: none; width: 1.625rem; height: 1.625rem; border-radius: 50%; display: flex; align-items: center; justify-content: center; background: var(--brand); color: var(--on-brand); font-size: .8125rem; font-weight: 650; }
ul.scopes { list-style: none; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: calc(var(--radius) * 1.2); overflow: hidden; }
ul.scopes li { display: flex; gap: .75rem; align-items: flex-start; padding: .8125rem 1rem; overflow-wrap: anywhere; }
ul.scopes li + li { border-top: 1px solid var(--line); }
ul.scopes .detail p { margin: .125rem 0 0; }
ul.scopes .resource p:not(.small) { margin-top: .5rem; }
ul.scopes svg { flex: none; width: 1.25rem; height: 1.25rem; margin-top: .125rem; color: var(--brand-text); }
.code { margin: 0 0 1rem; padding: .875rem 1rem; border: 1px solid var(--line); border-radius: calc(var(--radius) * 1.2); text-align: center; font: 650 1.875rem/1.2 ui-monospace, "SF Mono", "Liberation Mono", monospace; letter-spacing: .08em; white-space: nowrap; }
input[type=text].code-field { min-height: 3.75rem; text-align: center; text-transform: uppercase; font: 600 1.625rem/1.2 ui-monospace, "SF Mono", "Liberation Mono", monospace; letter-spacing: .1em; }
.code-field::placeholder { color: var(--muted); opacity: .55; }
.links { display: flex; justify-content: center; align-items: center; flex-wrap: wrap; gap: .25rem 1.25rem; margin-top: 1rem; font-size: .875rem; }
ul.list { list-style: none; margin: .75rem 0 0; padding: 0; }
ul.list li { display: flex; align-items: center; justify-content: space-between; gap: 1rem; padding: .75rem 0; border-top: 1px solid var(--line); }
ul.list li > div { min-width: 0; overflow-wrap: anywhere; }
ul.list li.stacked > div { flex: 1; }
ul.list strong { font-weight: 600; }
ul.list .this { color: var(--good); }
ul.list li:has(.rename) { flex-wrap: wrap; row-gap: 0; }
ul.list li:has(.rename) > div { flex: 1 1 12rem; }
.rename { flex: 1 0 100%; font-size: .875rem; }
.rename summary { display: inline-block; padding: .5rem 0; color: var(--brand-text); cursor: pointer; text-decoration: underline; text-underline-offset: .2em; }
.rename .row { margin: .25rem 0 .5rem; }
.rename .row input, .rename .row select { flex: 1; min-width: 0; min-height: 2.5rem; }
.qr { display: block; width: min(14rem, 100%); margin: 1rem auto; border-radius: 8px; }
.secret { padding: .75rem 1rem; border: 1px solid var(--line); border-radius: var(--radius); font-family: ui-monospace, "SF Mono", "Liberation Mono", monospace; overflow-wrap: anywhere; }
details:not(.rename) > summary { padding: .5rem 0; color: var(--brand-text); font-size: .875rem; cursor: pointer; }
ul.codes { margin: 0; padding: .875rem 1rem; list-style: none; border: 1px solid var(--line); border-radius: calc(var(--radius) * 1.2); font: 1rem/1.9 ui-monospace, "SF Mono", "Liberation Mono", monospace; overflow-wrap: anywhere; }
.check { display: flex; align-items: center; gap: .625rem; font-weight: 400; }
.check input { flex: none; width: 1.25rem; height: 1.25rem; accent-color: var(--brand); }
section > .button, section > form > button { width: fit-content; }
dl { margin: 1.25rem 0 0; padding: .875rem 1rem; border: 1px solid var(--line); border-radius: calc(var(--radius) * 1.2); font-size: .875rem; }
dt { color: var(--muted); }
dd { margin: 0 0 .5rem; font-family: ui-monospace, "SF Mono", "Liberation Mono", monospace; overflow-wrap: anywhere; }
.card.full dl { display: grid; grid-template-columns: minmax(8rem, 14rem) 1fr; gap: .375rem 1rem; }
.card.full dl dt { grid-column: 1; }
ul.list dl { margin: .375rem 0 0; padding: 0; border: 0; }
ul.list dt strong { font-weight: inherit; }
.card.full dl dd { grid-column: 2; margin: 0; }
.bar { display: block; width: 100%; height: 1.25rem; margin: .375rem 0; }
.bar .span { fill: var(--field-line); }
.bar .signs { fill: var(--brand); }
.bar .now { fill: var(--danger); }
.refusal { margin-top: 2rem; border-top: 1px solid var(--line); }
pre { margin: .75rem 0 0; padding: .875rem 1rem; border: 1px solid var(--line); border-radius: calc(var(--radius) * 1.2); font: .8125rem/1.6 ui-monospace, "SF Mono", "Liberation Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; direction: ltr; }
dd pre { margin: 0; padding: 0; border: 0; }
dd:last-child { margin-bottom: 0; }
.sign { width: 56px; height: 56px; margin: 0 auto 1rem; display: block; color: var(--brand-text); }
.languages { margin: 0; text-align: center; }
.languages form { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); width: min(30rem, calc(100vw - 2rem)); margin: .25rem auto 0; }
.code, .secret, ul.codes, .code-field, dd { direction: ltr; unicode-bidi: isolate; }
[hidden] { display: none !important; }
@media (max-width: 30rem) {
  .page { justify-content: flex-start; padding: 1.25rem .75rem; }
  .sections { column-gap: 0; }
  .sections a { padding-inline: .5rem; }
  .card { padding: 1.5rem 1.25rem 1.25rem; border-radius: calc(var(--radius) * 1.6); }
  ul.list .button, ul.list button, ul.list .row { max-width: 100%; }
  ul.list li { flex-wrap: wrap; row-gap: .625rem; }
  ul.list li > div { flex: 1 1 12rem; }
  .card.full dl { display: block; }
  .card.full dl dt:not(:first-child) { margin-top: .625rem; }
  ul.list li.stacked > div { flex: 1 1 100%; }
}
@media (prefers-reduced-motion: reduce) { * { transition: none !important; animation: none !important; } }
@media (forced-colors: active) {
  .card { border: 1px solid; }
  button, .button { border: 2px solid ButtonText; }
  button:not(.quiet, .plain, .link, .danger), .button:not(.quiet, .danger) { forced-color-adjust: none; color: HighlightText; background: Highlight; border-color: Highlight; }
  button.filled.danger { border-width: 4px; }
  button.plain, button.link { border: 0; text-decoration: underline; }
  form > button + button, form > .button + button { margin-top: .625rem; }
  .sections a[aria-current] { border: 2px solid; }
}
`);
}

/** Without the spaces that people read by. */
function compact(css: string): string {
  return css
    .replaceAll(/\s*\n\s*/g, "")
    .replaceAll(/ ?([{;}]) ?/g, "$1")
    .replaceAll(";}", "}");
}

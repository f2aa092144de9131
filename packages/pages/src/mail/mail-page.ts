import { brandColors } from "../brand-colors.ts";
import { describeLanguage, type Language } from "../languages.ts";
import { fontStacks } from "../look.ts";
import type { MailBlock, MailContent, MailEnd, MailFrame } from "./mail-parts.ts";

export interface RenderedMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** **Renders a mail as text and as HTML**, with the same content. */
export function renderMail(content: MailContent, end: MailEnd, language: Language, frame: MailFrame): RenderedMail {
  const { branding, issuer } = frame;
  const below = [branding.name, issuer, ...(end.own === undefined ? [] : [end.own])];
  const signed = [...content.blocks.map(asText), below.join("\n")];
  return {
    subject: oneLine(content.subject),
    text: `${[...signed, ...(end.help === undefined ? [] : [asText({ kind: "link", ...end.help })])].join("\n\n")}\n`,
    html: mailPage(content, end, language, frame),
  };
}

function asText(block: MailBlock): string {
  if (block.kind === "facts") return block.facts.map(([name, value]) => `${name}: ${value}`).join("\n");
  return block.kind === "button" || block.kind === "link" ? `${block.text}:\n${block.url}` : block.text;
}

/** A header has one line. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ").trim();
}

/** Corners are those of buttons, in pixels. */
type Colors = ReturnType<typeof brandColors> & { readonly radius: number };

const table = 'role="presentation" border="0" cellpadding="0" cellspacing="0"';

/**
 * **The HTML of a mail**: tables and styles in attributes, as programs for mail need them; the colours of the pages, and those for a dark scheme
 * where a program knows the media query. It contains no script, no image but the deployment's logo, and nothing that tells a server that it was
 * read: without a logo it loads nothing.
 */
export function mailPage(content: MailContent, end: MailEnd, language: Language, frame: MailFrame): string {
  const { branding, issuer } = frame;
  const { subject, heading = subject, blocks } = content;
  const radius = branding.cornerRadius;
  const light = { ...brandColors(branding.brandColor, branding.background, "light"), radius };
  const dark = { ...brandColors(branding.brandColorDark, branding.backgroundDark, "dark"), radius };
  const font = `font-family:${fontStacks[branding.font].replaceAll('"', "'")}`;
  const locale = `lang="${language}" dir="${describeLanguage(language).direction}"`;
  const own = end.own && `<br>${escapeHtml(end.own)}`;
  const help = end.help && `<br>${anchor(end.help, `class="below" style="color:${light.onGround}"`)}`;
  return `<!doctype html>
<html ${locale}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (max-width: 480px) { .card { padding: 24px 20px 8px !important; } }
@media (prefers-color-scheme: dark) {
${darkStyles(dark)}
}
</style>
</head>
<body class="ground" style="margin:0;padding:0;background:${light.ground}">
<table ${table} width="100%" class="ground" bgcolor="${light.ground}" ${locale} style="background:${light.ground}">
<tr><td align="center" style="padding:24px 16px">
<table ${table} width="560" style="width:100%;max-width:560px;${font};font-size:16px;line-height:1.5;color:${light.text}">
<tr><td class="below" style="padding:0 0 16px;font-weight:600;color:${light.onGround}">${mark(branding, light)}<span style="vertical-align:middle">${escapeHtml(branding.name)}</span></td></tr>
<tr><td class="card" bgcolor="${light.card}" style="padding:32px 32px 16px;background:${light.card};border:1px solid ${light.line};border-radius:${Math.round(radius * 1.4)}px;overflow-wrap:anywhere">
<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3">${escapeHtml(heading)}</h1>
${blocks.map((block) => asHtml(block, light)).join("\n")}
</td></tr>
<tr><td class="below" style="padding:16px 0 0;font-size:14px;color:${light.onGround}">${escapeHtml(branding.name)}<br>${escapeHtml(issuer)}${own ?? ""}${help ?? ""}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`;
}

function darkStyles(dark: Colors): string {
  return [
    `.ground { background: ${dark.ground} !important; }`,
    `.below { color: ${dark.onGround} !important; }`,
    `.card { background: ${dark.card} !important; border-color: ${dark.line} !important; color: ${dark.text} !important; }`,
    `.name { color: ${dark.muted} !important; }`,
    `.code { border-color: ${dark.line} !important; }`,
    `.link { color: ${dark.brandText} !important; }`,
    ".on-light { display: none !important; }",
    ".on-dark { display: inline !important; }",
    `.fill { background: ${dark.brand} !important; border-color: ${dark.edge} !important; color: ${dark.onBrand} !important; }`,
  ].join("\n");
}

/** Programs for mail show no `data:` image. Without a logo: the initial, as pages show it for clients. */
function mark({ logoUrl, logoUrlDark: dark = logoUrl, name }: MailFrame["branding"], colors: Colors): string {
  const rounded = `border-radius:${Math.min(8, Math.round(colors.radius * 0.8))}px`;
  if (logoUrl?.startsWith("https:") === true) {
    const style = `height:32px;max-width:224px;vertical-align:middle;${rounded};margin-inline-end:10px`;
    const image = (url: string, attributes: string) =>
      `<img src="${escapeHtml(url)}" alt="" height="32" ${attributes}">`;
    if (dark === logoUrl || dark?.startsWith("https:") !== true) return image(logoUrl, `style="${style}`);
    // A program without the media query shows the first one alone.
    const other = image(dark, `class="on-dark" style="display:none;mso-hide:all;${style}`);
    return image(logoUrl, `class="on-light" style="${style}`) + other;
  }
  const box = `display:inline-block;width:32px;line-height:32px;${rounded};text-align:center;vertical-align:middle`;
  const style = `${box};margin-inline-end:10px;background:${colors.brand};color:${colors.onBrand}`;
  return `<span class="fill" aria-hidden="true" style="${style}">${escapeHtml([...name][0]?.toUpperCase() ?? "")}</span>`;
}

function asHtml(block: MailBlock, colors: Colors): string {
  switch (block.kind) {
    case "paragraph":
      return `<p style="margin:0 0 16px">${escapeHtml(block.text)}</p>`;
    case "facts":
      return `<table border="0" cellpadding="0" cellspacing="0" style="margin:0 0 16px">${block.facts.map((fact) => asRow(fact, colors)).join("")}</table>`;
    case "code": {
      const box = `border:1px solid ${colors.line};border-radius:${colors.radius}px`;
      const style = `margin:0 0 16px;padding:12px;${box};text-align:center`;
      const digits = "font-size:28px;font-weight:600;letter-spacing:2px";
      return `<p class="code" dir="ltr" style="${style};${digits}">${escapeHtml(block.text)}</p>`;
    }
    case "button": {
      const rounded = `border-radius:${colors.radius}px`;
      const style = `display:inline-block;padding:12px 20px;border:1px solid ${colors.edge};${rounded};text-align:center`;
      const words = `color:${colors.onBrand};font-weight:600;text-decoration:none`;
      const link = anchor(block, `class="fill" style="${style};background:${colors.brand};${words}"`);
      // Outlook draws the cell and not the padding of the link.
      return `<table ${table} style="margin:0 0 16px"><tr><td class="fill" bgcolor="${colors.brand}" style="${rounded};background:${colors.brand}">${link}</td></tr></table>`;
    }
    case "link":
      return `<p style="margin:0 0 16px">${anchor(block, `class="link" style="color:${colors.brandText};font-weight:600"`)}</p>`;
  }
}

function asRow([name, value]: readonly [string, string], colors: Colors): string {
  const style = "padding:0 0 4px;text-align:start;vertical-align:top";
  const named = `${style};padding-inline-end:16px;font-weight:400;white-space:nowrap;color:${colors.muted}`;
  return `<tr><th scope="row" align="start" class="name" style="${named}">${escapeHtml(name)}</th><td style="${style}">${escapeHtml(value)}</td></tr>`;
}

function anchor({ text, url }: { readonly text: string; readonly url: string }, attributes: string): string {
  return `<a href="${escapeHtml(url)}" ${attributes}>${escapeHtml(text)}</a>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

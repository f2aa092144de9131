import type { Branding } from "../branding.ts";
import { describeLanguage, type Language } from "../languages.ts";

export interface RenderedMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** A part of a mail: a paragraph, a link to a page of this provider, or a code that is typed from it. */
export type MailBlock =
  | { readonly kind: "paragraph"; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "link"; readonly text: string; readonly url: string };

export interface MailContent {
  readonly subject: string;
  readonly blocks: readonly MailBlock[];
}

export interface MailFrame {
  readonly issuer: string;
  readonly branding: Pick<Branding, "name" | "logoUrl" | "brandColor">;
  /** `DELETION_GRACE_DAYS`. */
  readonly deletionGraceDays: number;
}

/**
 * **Renders a mail as text and as HTML**, with the same content. It contains no script, no image but the deployment's logo, and nothing that tells a
 * server that it was read: without a logo it loads nothing.
 */
export function renderMail({ subject, blocks }: MailContent, language: Language, frame: MailFrame): RenderedMail {
  const { branding } = frame;
  const signed = [...blocks.map(asText), `${branding.name}\n${frame.issuer}`];
  return {
    subject: oneLine(subject),
    text: `${signed.join("\n\n")}\n`,
    html: asPage(subject, blocks, language, frame),
  };
}

function asText(block: MailBlock): string {
  return block.kind === "link" ? `${block.text}:\n${block.url}` : block.text;
}

const font = "font-family:system-ui,-apple-system,'Segoe UI',sans-serif";

function asPage(subject: string, blocks: readonly MailBlock[], language: Language, frame: MailFrame): string {
  const { branding, issuer } = frame;
  const parts = blocks.map((block) => asHtml(block, branding.brandColor)).join("\n");
  return `<!doctype html>
<html lang="${language}" dir="${describeLanguage(language).direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(subject)}</title>
</head>
<body style="margin:0;padding:24px;${font};font-size:16px;line-height:1.5">
<div style="max-width:560px;margin:0 auto">
<p style="margin:0 0 24px;font-weight:600">${logo(branding)}${escapeHtml(branding.name)}</p>
<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3">${escapeHtml(subject)}</h1>
${parts}
<p style="margin:32px 0 0;font-size:14px;opacity:0.75">${escapeHtml(branding.name)}<br>${escapeHtml(issuer)}</p>
</div>
</body>
</html>
`;
}

/** Programs for mail show no `data:` image. */
function logo({ logoUrl }: MailFrame["branding"]): string {
  if (logoUrl?.startsWith("https:") !== true) return "";
  return `<img src="${escapeHtml(logoUrl)}" alt="" height="32" style="height:32px;vertical-align:middle;margin-right:12px">`;
}

function asHtml(block: MailBlock, color: string): string {
  if (block.kind === "paragraph") return `<p style="margin:0 0 16px">${escapeHtml(block.text)}</p>`;
  if (block.kind === "code") {
    return `<p style="margin:0 0 16px;font-size:28px;font-weight:600;letter-spacing:2px">${escapeHtml(block.text)}</p>`;
  }
  const url = escapeHtml(block.url);
  const link = `<a href="${url}" style="color:inherit;font-weight:600;text-decoration:underline;text-decoration-color:${color}">${escapeHtml(block.text)}</a>`;
  return `<p style="margin:0 0 16px">${link}<br><span style="font-size:14px;opacity:0.75">${url}</span></p>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A header has one line. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ").trim();
}

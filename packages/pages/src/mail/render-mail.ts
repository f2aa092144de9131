import type { Language } from "../languages.ts";
import { mailPage } from "./mail-page.ts";
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

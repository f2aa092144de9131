/** **Pages that only inform**: an error, or a message such as the end of a session. */

import type { Child } from "hono/jsx";
import { Layout, type PageFrame } from "./layout.tsx";

export interface PageLink {
  readonly href: string;
  readonly text: string;
}

export interface ErrorView {
  /** Replaces the usual title. */
  readonly title?: string;
  readonly link?: PageLink;
  /** Addressed to the person. */
  readonly text: string;
  /** Code and description are addressed to the application's support. */
  readonly code: string;
  readonly description: string | undefined;
  readonly reference: string;
}

/** An exclamation mark. */
const attention = "M12 8v5m0 3.2v.1";

export function ErrorPage({ frame, view }: { readonly frame: PageFrame; readonly view: ErrorView }) {
  const { t } = frame;
  const title = view.title ?? t("error.title");
  return (
    <Layout {...frame} title={title}>
      <div class="head" role="alert">
        <Sign path={attention} />
        <h1>{title}</h1>
        <p class="muted">{view.text}</p>
      </div>
      <dl>
        <dt>{t("error.code")}</dt>
        <dd id="error-code">{view.code}</dd>
        {view.description && <dd id="error-description">{view.description}</dd>}
        <dt>{t("error.reference")}</dt>
        <dd>{view.reference}</dd>
      </dl>
      {view.link && <LinkButton {...view.link} />}
    </Layout>
  );
}

/** A check mark only for what was done. `ended`: what the person came for was refused, or does not exist (any more). */
export function MessagePage({
  frame,
  title,
  text,
  link,
  sign = "done",
  note,
}: {
  readonly frame: PageFrame;
  readonly title: string;
  readonly text: string;
  readonly link?: PageLink;
  readonly sign?: "done" | "ended";
  readonly note?: Child;
}) {
  return (
    <Layout {...frame} title={title}>
      <div class="head" role="status">
        <Sign path={sign === "done" ? "M8 12.3l2.8 2.8 5.4-6" : attention} />
        <h1>{title}</h1>
        <p class="muted">{text}</p>
      </div>
      {note}
      {link && <LinkButton {...link} />}
    </Layout>
  );
}

function LinkButton({ href, text }: PageLink) {
  return (
    <div class="actions">
      <a class="button quiet" href={href}>
        {text}
      </a>
    </div>
  );
}

function Sign({ path }: { readonly path: string }) {
  return (
    <svg class="sign" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.6" aria-hidden="true">
      <circle cx="12" cy="12" r="9.5" stroke-opacity="0.4" />
      <path d={path} stroke-width="2" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

import { Layout } from "@edge-op/pages/layout";
import type { Child } from "hono/jsx";
import { HiddenFields } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";
import { pageOf } from "./account-areas.ts";

/** A line of a list of the account page. */
export interface ItemProps {
  readonly title: string;
  /** Those that are absent are left out. Names are in `bdi`, because their direction may not be the page's. */
  readonly details: readonly Child[];
}

export function Item({ title, details }: ItemProps) {
  const shown = details.filter(Boolean);
  return (
    <div>
      <strong>{title}</strong>
      <p class="muted small">{shown.map((detail, index) => [index > 0 && " · ", detail])}</p>
    </div>
  );
}

/** **A section of an account page**: a heading with its one main action beside it, and what it lists. */
export function Section(props: {
  /** For links to it. */
  readonly id?: string;
  readonly title: string;
  readonly text?: string | undefined;
  readonly action?: Child;
  readonly children?: Child;
}) {
  return (
    <section id={props.id}>
      <div class="title">
        <h2>{props.title}</h2>
        {props.action}
      </div>
      {props.text && <p class="muted small">{props.text}</p>}
      {props.children}
    </section>
  );
}

/** A list; none if it is empty. */
export function List({ children }: { readonly children?: Child }) {
  const shown = [children].flat(2).filter(Boolean);
  return shown.length === 0 ? null : <ul class="list">{shown}</ul>;
}

/** Links to the page that confirms the removal. */
export function RemoveLink(props: {
  readonly path: string;
  readonly name: string;
  readonly value: string;
  /** The item to be removed, for screen readers that list links without context. */
  readonly subject: string;
  readonly children: string;
}) {
  const query = new URLSearchParams({ [props.name]: props.value });
  return (
    <a
      class="button slim danger"
      href={`${props.path}?${query}`}
      aria-label={`${props.children}: ${props.subject}`}
      data-remove={props.name}
    >
      {props.children}
    </a>
  );
}

export interface ConfirmView {
  readonly title: string;
  readonly text: string;
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly submit: string;
  /** The effect of the button; a removal by default. A page with a download stays and may submit it again. */
  readonly effect?: "removal" | "change" | "download";
}

/** **The page that confirms a removal or another change, or a download**: its effect, a button, and a link back. */
export function ConfirmPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: ConfirmView }) {
  const { t } = frame;
  return (
    <Layout {...frame} title={view.title} submitsOnce={view.effect !== "download"}>
      <div class="head">
        <h1>{view.title}</h1>
        <p class="muted">{view.text}</p>
      </div>
      <form method="post" action={view.action} class="actions">
        {Object.entries(view.fields).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <button
          type="submit"
          class={(view.effect ?? "removal") === "removal" ? "filled danger" : undefined}
          id="confirm"
        >
          {view.submit}
        </button>
        <a class="button quiet" href={pageOf(view.action)} id="cancel">
          {t("flow.cancel")}
        </a>
      </form>
    </Layout>
  );
}

/** **A value that is changed in place**: a form of one field, which opens below it. `name`: of the way to it, for who does not see the value. */
export function ChangeInPlace(props: {
  readonly t: AuthTranslator;
  readonly text: string;
  readonly name: string;
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  /** `save`: the id of the button. */
  readonly field: { readonly id: string; readonly label: string; readonly save?: string };
  readonly children: Child;
}) {
  const { t, text, name, action, fields, field, children } = props;
  return (
    <details class="rename">
      <summary aria-label={name}>{text}</summary>
      <form method="post" action={action} class="row">
        <HiddenFields fields={fields} />
        <label for={field.id} class="unseen">
          {field.label}
        </label>
        {children}
        <button type="submit" class="quiet slim" id={field.save}>
          {t("account.save")}
        </button>
      </form>
    </details>
  );
}

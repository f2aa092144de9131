/** **The size of a text in a page**, and the texts that fit: names, addresses and documents of an administrator may be long, and a page has 50 kB. */

const encoder = new TextEncoder();

/** The characters that a page writes as references, and how many bytes each then has more. */
const longer: Readonly<Record<string, number>> = { '"': 5, "'": 4, "&": 4, "<": 3, ">": 3 };

/** The bytes that a text has in a page. */
export function bytesInPage(text: string): number {
  const references = text.match(/["'&<>]/g) ?? [];
  return references.reduce((bytes, character) => bytes + (longer[character] ?? 0), encoder.encode(text).length);
}

/** The beginning of a text that has at most so many bytes in a page, with an ellipsis if that is not all of it. */
export function clip(text: string, most: number): string {
  // No character has more than six bytes.
  if (text.length * 6 <= most || bytesInPage(text) <= most) return text;
  let left = most - bytesInPage("…");
  let kept = "";
  for (const character of text) {
    left -= bytesInPage(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept}…`;
}

/** How many of the first parts have at most so many bytes together. */
export function countFitting(bytes: readonly number[], most: number): number {
  let left = most;
  const beyond = bytes.findIndex((each) => {
    left -= each;
    return left < 0;
  });
  return beyond < 0 ? bytes.length : beyond;
}

/** **The parts that pages of the console are made of.** What people or applications have chosen is in `strong` or `dd`, and always text. */

import type { Translator } from "@edge-op/pages/translator";
import type { Child } from "hono/jsx";
import type { ConsoleKey } from "./messages.ts";

type T = Translator<ConsoleKey>;

export function Head({ title, text }: { readonly title: string; readonly text?: string | undefined }) {
  return (
    <div class="head">
      <h1>{title}</h1>
      {text && <p class="muted">{text}</p>}
    </div>
  );
}

/** The head of a record: its name is data. */
export function RecordHead({ kind, name }: { readonly kind: string; readonly name: string }) {
  return (
    <div class="head">
      <p class="muted">{kind}</p>
      <h1>
        <strong>{clip(name, longest.text)}</strong>
      </h1>
    </div>
  );
}

/** That a change is in force, after it has led here. */
export function Done({ t, query }: { readonly t: T; readonly query: URLSearchParams }) {
  if (!query.has("done")) return null;
  return (
    <p class="note good" role="status">
      {t("change.done")}
    </p>
  );
}

/** `data`: the name is no text of a catalog. */
export type Fact = readonly [
  name: string,
  value: string | readonly string[] | boolean | number | undefined,
  isData?: "data",
];

/** Bytes of a text, and of the texts of one fact. */
const longest = { text: 400, name: 120, detail: 200, fact: 1_500 } as const;
/** Of the elements of a value. */
const markup = 9;

export function Facts({ t, facts }: { readonly t: T; readonly facts: readonly Fact[] }) {
  const shown = (value: Fact[1]): readonly string[] => {
    if (value === undefined || value === "") return [];
    if (typeof value === "boolean") return [t(value ? "value.yes" : "value.no")];
    if (!Array.isArray(value)) return [clip(String(value), longest.fact)];
    const texts = value.map((text) => clip(text, longest.text));
    const count = countFitting(
      texts.map((text) => bytesInPage(text) + markup),
      longest.fact,
    );
    return count < texts.length ? [...texts.slice(0, count), `… +${texts.length - count}`] : texts;
  };
  return (
    <dl>
      {facts.map(([name, value, isData]) => {
        const texts = shown(value);
        return (
          <>
            <dt>{isData ? <strong>{name}</strong> : name}</dt>
            {texts.length === 0 ? <dd class="muted">{t("value.none")}</dd> : texts.map((text) => <dd>{text}</dd>)}
          </>
        );
      })}
    </dl>
  );
}

export interface Item {
  readonly name: string;
  readonly detail?: readonly (string | undefined)[];
  readonly facts?: readonly Fact[];
  /** Texts of the catalog. */
  readonly note?: string | undefined;
  readonly actions?: readonly Action[];
}

export interface Action {
  readonly href: string;
  readonly text: string;
  readonly isDangerous?: boolean;
}

export function List({ t, items }: { readonly t: T; readonly items: readonly Item[] }) {
  if (items.length === 0) return <p class="muted">{t("list.empty")}</p>;
  return (
    <ul class="list">
      {items.map(({ name: whole, detail = [], facts, note, actions = [] }) => {
        const name = clip(whole, longest.name);
        return (
          <li class={facts && "stacked"}>
            <div>
              <strong>{name}</strong>
              {note && <span class="muted small"> {note}</span>}
              {detail.map((text) => text && <div class="muted small detail">{clip(text, longest.detail)}</div>)}
              {facts && <Facts t={t} facts={facts} />}
            </div>
            {actions.length > 0 && (
              <div class="row">
                {actions.map(({ href, text, isDangerous }) => (
                  <a class={`button quiet slim${isDangerous ? " danger" : ""}`} href={href}>
                    {text}
                    <span class="unseen detail"> {name}</span>
                  </a>
                ))}
              </div>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** The links of a keyset page: the next one and the first. Nothing is counted. */
export function Pager({
  t,
  path,
  query,
  next,
  name = "cursor",
}: {
  readonly t: T;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly next: string | undefined;
  readonly name?: string;
}) {
  const at = (cursor: string | undefined) => {
    const changed = new URLSearchParams(query);
    changed.delete("done");
    if (cursor === undefined) changed.delete(name);
    else changed.set(name, cursor);
    return changed.size === 0 ? path : `${path}?${changed}`;
  };
  if (next === undefined && !query.has(name)) return null;
  return (
    <p class="row top">
      {query.has(name) && (
        <a class="button quiet slim" href={at(undefined)}>
          {t("list.first")}
        </a>
      )}
      {next !== undefined && (
        <a class="button quiet slim" href={at(next)} id={`next-${name}`}>
          {t("list.next")}
        </a>
      )}
    </p>
  );
}

/** A search by one condition, as the admin API has it. */
export function Search({
  t,
  path,
  query,
  conditions,
  isExact,
}: {
  readonly t: T;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names of the API and the texts for them. */
  readonly conditions: Readonly<Record<string, string>>;
  /** No condition takes the beginning of a value. */
  readonly isExact?: true;
}) {
  return (
    <form method="get" action={path} class="search">
      <div>
        <label for="by">{t("list.searchBy")}</label>
        <select id="by" name="by">
          {Object.entries(conditions).map(([name, text]) => (
            <option value={name} selected={query.get("by") === name}>
              {text}
            </option>
          ))}
        </select>
      </div>
      <div>
        <label for="value">{t(isExact ? "list.searchExactly" : "list.searchFor")}</label>
        <input type="text" id="value" name="value" value={clip(query.get("value") ?? "", 600)} autocomplete="off" />
      </div>
      <button type="submit" class="slim" id="search">
        {t("list.search")}
      </button>
      {query.get("value") && (
        <a class="button quiet slim" href={path}>
          {t("list.all")}
        </a>
      )}
    </form>
  );
}

/** The condition of {@link Search} for the admin API. */
export function searched(query: URLSearchParams, conditions: Readonly<Record<string, string>>): Record<string, string> {
  const [by, value] = [query.get("by") ?? "", query.get("value") ?? ""];
  return value !== "" && Object.hasOwn(conditions, by) ? { [by]: value } : {};
}

export function Actions({ actions }: { readonly actions: readonly (Action | undefined)[] }) {
  return (
    <p class="row wrap top">
      {actions.map(
        (action) =>
          action && (
            <a class={`button quiet slim${action.isDangerous ? " danger" : ""}`} href={action.href}>
              {action.text}
            </a>
          ),
      )}
    </p>
  );
}

/** `isData`: the title is no text of a catalog. */
export function Section({
  title,
  isData,
  children,
}: {
  readonly title: string;
  readonly isData?: boolean;
  readonly children?: Child;
}) {
  return (
    <section>
      <h2>{isData ? <strong>{title}</strong> : title}</h2>
      {children}
    </section>
  );
}

/** A time as operators read it in logs: UTC, to the second. */
export function timeText(seconds: number | undefined): string | undefined {
  return seconds === undefined
    ? undefined
    : `${new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

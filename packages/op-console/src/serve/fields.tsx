import type { Translator } from "@edge-op/pages/translator";
import type { Form } from "@edge-op/shared/http/read-form";
import type { ConsoleKey } from "./messages.ts";

/** The values of a form by the names of its fields; a box that is not checked is empty. */
export type Values = Readonly<Record<string, string>>;

export interface Field {
  readonly name: string;
  readonly label: ConsoleKey;
  readonly help?: ConsoleKey;
  /** `pairs`: a name and a value on each line. `secret`: written, never shown. */
  readonly kind: "text" | "number" | "lines" | "pairs" | "json" | "secret" | "check" | "choice";
  /** The values of a choice, with their texts unless the values are data. */
  readonly options?: readonly (readonly [value: string, label?: ConsoleKey])[];
  readonly isRequired?: true;
}

const kindHelp = { lines: "form.one", pairs: "form.pairs", json: "form.json", secret: "form.secret" } as const;

/** The fields of JSON whose values are none. */
export function malformedFields(fields: readonly Field[], values: Values): readonly Field[] {
  return fields.filter(({ name, kind }) => kind === "json" && values[name] && parseJson(values[name]) === undefined);
}

/** `undefined`: the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function readValues(fields: readonly Field[], form: Form): Values {
  return Object.fromEntries(fields.map(({ name }) => [name, (form.get(name) ?? "").replaceAll("\r\n", "\n").trim()]));
}

/** The lines of a value. */
export function linesOf(value: string | undefined): string[] {
  return (value ?? "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

interface Props {
  readonly t: Translator<ConsoleKey>;
  readonly fields: readonly Field[];
  readonly values: Values;
}

/** **The fields of a form**, each with its label and help. */
export function Fields({ t, fields, values }: Props) {
  return (
    <>
      {fields.map((field) => (
        <OneField t={t} field={field} value={values[field.name] ?? ""} />
      ))}
    </>
  );
}

function OneField({
  t,
  field: { name, label, help, kind, options = [], isRequired },
  value,
}: {
  readonly t: Translator<ConsoleKey>;
  readonly field: Field;
  readonly value: string;
}) {
  const id = `field-${name.replaceAll(".", "-")}`;
  const helpText = help ?? (kind in kindHelp ? kindHelp[kind as keyof typeof kindHelp] : undefined);
  const helpId = helpText === undefined ? undefined : `${id}-help`;
  const common = { id, name, "aria-describedby": helpId, required: isRequired };
  if (kind === "check") {
    return (
      <label class="check" for={id}>
        <input type="checkbox" {...common} value="true" checked={value === "true"} />
        <span>
          {t(label)}
          {help && (
            <span class="muted small" id={helpId}>
              {" "}
              {t(help)}
            </span>
          )}
        </span>
      </label>
    );
  }
  return (
    <div>
      <label for={id}>{t(label)}</label>
      {(kind === "text" || kind === "number") && (
        <input
          type="text"
          {...common}
          value={value}
          autocomplete="off"
          inputmode={kind === "number" ? "decimal" : undefined}
        />
      )}
      {kind in kindHelp && (
        <textarea
          {...common}
          lang="en"
          rows={Math.min(12, Math.max(3, value.split("\n").length + 1))}
          spellcheck={false}
          autocomplete="off"
        >
          {value}
        </textarea>
      )}
      {kind === "choice" && (
        <select {...common}>
          {options.map(([option, text]) => (
            <option value={option} selected={option === value} lang={text === undefined ? "en" : undefined}>
              {text === undefined ? option : t(text)}
            </option>
          ))}
        </select>
      )}
      {helpText && (
        <p class="muted small" id={helpId}>
          {t(helpText)}
        </p>
      )}
    </div>
  );
}

/** The changes of a form: the fields whose values differ. */
export function changedFields(fields: readonly Field[], before: Values, values: Values): readonly Field[] {
  return fields.filter(({ name }) => (values[name] ?? "") !== (before[name] ?? ""));
}

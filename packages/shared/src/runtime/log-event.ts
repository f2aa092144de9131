/** **An event that Workers and objects log**: its fields and their meaning. `log-levels.ts` has its level. */
export interface LogEvent {
  /** In Markdown, one paragraph. */
  readonly meaning: string;
  readonly fields: Readonly<Record<string, LogField>>;
}

export interface LogField {
  readonly type: "text" | "number" | "list of texts";
  readonly isOptional: boolean;
  readonly meaning: string;
}

export function text(meaning: string) {
  return { type: "text", isOptional: false, meaning } as const;
}

export function number(meaning: string) {
  return { type: "number", isOptional: false, meaning } as const;
}

export function texts(meaning: string) {
  return { type: "list of texts", isOptional: false, meaning } as const;
}

export function optional<Type extends LogField["type"]>({
  type,
  meaning,
}: {
  readonly type: Type;
  readonly meaning: string;
}) {
  return { type, isOptional: true, meaning } as const;
}

export const requestId = text("The request.");
export const cause = text("The error that was caught.");

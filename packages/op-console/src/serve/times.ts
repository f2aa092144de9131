/** A time as operators read it in logs: UTC, to the second. */
export function timeText(seconds: number | undefined): string | undefined {
  return seconds === undefined
    ? undefined
    : `${new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

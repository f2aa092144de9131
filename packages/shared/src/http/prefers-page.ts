/**
 * **Whether a request comes from a browser that navigates**: a GET or HEAD whose `Accept` names HTML and does not prefer JSON to it. A wildcard alone
 * does not count, because command-line clients and libraries send one by default.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1
 */
export function prefersPage({ method, headers }: Pick<Request, "method" | "headers">): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  const qualities = readAccept(headers.get("accept") ?? "");
  const html = Math.max(qualities.get("text/html") ?? 0, qualities.get("application/xhtml+xml") ?? 0);
  return html > 0 && html >= (qualities.get("application/json") ?? 0);
}

/** More media types than browsers send; further ones are ignored. */
const mediaTypesRead = 20;

function readAccept(header: string): ReadonlyMap<string, number> {
  return new Map(
    header.split(",", mediaTypesRead).map((range) => {
      const [type = "", ...parameters] = range.trim().toLowerCase().split(";");
      const quality = parameters.map((parameter) => /^\s*q=(\d(?:\.\d{1,3})?)\s*$/.exec(parameter)?.[1]).find(Boolean);
      return [type.trim(), quality === undefined ? 1 : Number(quality)];
    }),
  );
}

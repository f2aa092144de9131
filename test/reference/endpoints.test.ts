import { describe, expect, test } from "vitest";
import { providerMetadata } from "../../packages/op/src/provider-metadata.ts";
import { OAuthError, type OAuthErrorCode, wireDescriptions } from "../../packages/protocol/src/oauth/errors.ts";
import { readSettings } from "../../packages/shared/src/config/settings.ts";
import { readRepositoryFile, repositoryFiles } from "../../scripts/reference/repository-files.ts";

/** docs/reference/endpoints.md, compared with the routes and the error codes. */
const page = readRepositoryFile("docs/reference/endpoints.md");
const errors = page.slice(page.indexOf("## Errors"));
const codes = Object.keys(wireDescriptions) as OAuthErrorCode[];

describe("errors", () => {
  const rows = new Map(
    [...errors.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)].map(([, code, status]) => [code, Number(status)]),
  );

  test("the table contains exactly the codes, with their default status", () => {
    const defaults = new Map(codes.map((code) => [code, new OAuthError(code, "path-unknown").status]));
    expect(rows).toEqual(defaults);
  });

  test("every code is sent by some source", () => {
    const sources = repositoryFiles()
      .filter((path) => /^packages\/[^/]+\/src\/.*\.tsx?$/.test(path) && !path.endsWith("oauth/errors.ts"))
      .map((path) => readRepositoryFile(path))
      .join("\n");
    expect(codes.filter((code) => !sources.includes(`"${code}"`))).toEqual([]);
  });

  test("every code in a table of an endpoint is one of them", () => {
    const inTables = [
      ...page.slice(0, page.indexOf("## Errors")).matchAll(/^\| (`\w+`(?:, `\w+`)*) \| (?:\d{3}|a page|the client)/gm),
    ];
    const named = inTables.flatMap(([, cell]) => cell!.split(", ").map((code) => code.replaceAll("`", "")));
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((code) => !rows.has(code))).toEqual([]);
  });
});

test("every route of every Worker is described", () => {
  const apps = repositoryFiles().filter((path) => /^packages\/op[\w-]*\/src\/app\.ts$/.test(path));
  const routes = apps.flatMap((path) => {
    const text = readRepositoryFile(path);
    const served = [...text.matchAll(/serve(?:(?:Plain)?Page|Endpoint)\(\s*app,\s*(?:isolate,\s*)?"([^"]+)"/g)].map(
      ([, route]) => route!,
    );
    const discovery = [...text.matchAll(/"(\/\.well-known\/[\w-]+)"/g)].map(([, route]) => route!);
    return [...served, ...discovery];
  });
  expect(apps).toHaveLength(6);
  expect(routes.length).toBeGreaterThan(25);
  const isDescribed = (route: string) =>
    route === "*" || new RegExp(`[ \`]${route.replaceAll(/[.*]/g, "\\$&")}\``).test(page);
  expect(routes.filter((route) => !isDescribed(route))).toEqual([]);
});

test("every grant that discovery lists is described", () => {
  const { grant_types_supported: grants } = providerMetadata(readSettings({ ISSUER: "https://op.example.com" }), false);
  expect(grants.length).toBeGreaterThan(4);
  expect(grants.filter((grant) => !page.includes(`| \`${grant}\` |`))).toEqual([]);
});

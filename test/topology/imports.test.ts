import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot, workers } from "../../scripts/workers.ts";

/** Who may import what (ARCHITECTURE.md), read off the sources. */
const sourcePattern = /\.tsx?$/;

function sources(directory: string): { path: string; imports: { specifier: string; typeOnly: boolean }[] }[] {
  return readdirSync(join(repositoryRoot, directory), { recursive: true, encoding: "utf8" })
    .filter((path) => sourcePattern.test(path) && !path.includes("node_modules"))
    .map((path) => {
      const text = readFileSync(join(repositoryRoot, directory, path), "utf8");
      const statements = text.matchAll(/^(?:import|export)( type)?\s[^;]*?from\s+"([^"]+)";|^import "([^"]+)";/gm);
      const imports = [...statements].map(([, type, from, bare]) => ({
        specifier: (from ?? bare)!,
        typeOnly: type !== undefined,
      }));
      return { path: `${directory}/${path}`, imports };
    });
}

test("a Worker imports itself and the library, never another Worker; of op-state its types only", () => {
  const wrong = workers.flatMap(({ name }) =>
    sources(`packages/${name}/src`).flatMap(({ path, imports }) =>
      imports
        .filter(({ specifier, typeOnly }) => {
          const other = /^@edge-op\/([a-z-]+)\//.exec(specifier)?.[1];
          if (other === undefined || other === "shared") return false;
          return !(other === "op-state" && typeOnly);
        })
        .map(({ specifier }) => `${path} imports ${specifier}`),
    ),
  );
  expect(wrong).toEqual([]);
});

test("no source reaches outside its package by a path", () => {
  const packages = readdirSync(join(repositoryRoot, "packages"));
  const wrong = packages.flatMap((name) =>
    sources(`packages/${name}/src`).flatMap(({ path, imports }) => {
      const depth = path.split("/").length - 4;
      return imports
        .filter(({ specifier }) => (specifier.match(/\.\.\//g) ?? []).length > depth)
        .map(({ specifier }) => `${path} imports ${specifier}`);
    }),
  );
  expect(wrong).toEqual([]);
});

test("inside the library: oauth imports nothing of it, http only oauth", () => {
  const below: Readonly<Record<string, readonly string[]>> = { oauth: [], http: ["oauth"] };
  const wrong = sources("packages/shared/src").flatMap(({ path, imports }) => {
    const allowed = below[path.split("/")[3]!];
    return imports
      .filter(({ specifier, typeOnly }) => {
        const imported = /^\.\.\/([a-z-]+)\//.exec(specifier)?.[1];
        return imported !== undefined && !typeOnly && allowed !== undefined && !allowed.includes(imported);
      })
      .map(({ specifier }) => `${path} imports ${specifier}`);
  });
  expect(wrong).toEqual([]);
});

test("inside the library no module needs itself: imports of values run in no circle", () => {
  const files = sources("packages/shared/src");
  const needs = new Map(
    files.map(({ path, imports }) => [
      path,
      imports
        .filter(({ specifier, typeOnly }) => specifier.startsWith(".") && !typeOnly)
        .map(({ specifier }) => join(path, "..", specifier)),
    ]),
  );
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(" → "));
    if (done.has(path) || trail.includes(path)) return;
    for (const next of needs.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const { path } of files) visit(path, []);
  expect(files.length).toBeGreaterThan(50);
  expect(circles).toEqual([]);
});

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { compactWorker, repositoryRoot, workers } from "../../packages/edge-op/src/workers.ts";

/** The allowed imports (ARCHITECTURE.md), parsed from the sources. */
const sourcePattern = /\.(tsx?|m?js)$/;

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

test("a Worker imports only itself, the table of Workers and the libraries, never another Worker; of op-state only types", () => {
  const wrong = workers.flatMap(({ name }) =>
    sources(`packages/${name}/src`).flatMap(({ path, imports }) =>
      imports
        .filter(({ specifier, typeOnly }) => {
          const other = /^@edge-op\/([a-z-]+)\//.exec(specifier)?.[1];
          if (other === undefined || ["protocol", "shared", "pages", "workers"].includes(other)) return false;
          return !(other === "op-state" && typeOnly);
        })
        .map(({ specifier }) => `${path} imports ${specifier}`),
    ),
  );
  expect(wrong).toEqual([]);
});

/** The rooms of a package, from the top floor down: a room imports only rooms below it, types included. */
const floors: Readonly<Record<string, readonly string[]>> = {
  protocol: ["dpop", "mtls", "jwt", "oauth", "encoding"],
  shared: [
    ...["callers", "endings"],
    ...["codes", "refresh", "tokens"],
    ...["upstreams", "hooks"],
    ...["sessions", "mail"],
    ...["issuers", "users", "clients", "resources", "keys"],
    ...["leases", "grants", "control"],
    ...["cut-offs", "held-records"],
    ...["audit", "storage"],
    "http",
    ...["config", "secrets", "runtime"],
  ],
  "op-state": [
    "index.ts",
    "control",
    ...["generations", "sweeps"],
    "changes",
    ...["cut-offs", "mail"],
    ...["codes", "refresh", "sessions"],
    ...["keys", "revocation", "relay"],
    ...["audit", "challenges"],
    ...["backup", "held-records", "leases", "wake"],
  ],
  "op-management": [
    ...["index.ts", "worker.ts", "app.ts", "admin-routes.ts", "delegated-routes.ts"],
    "scim",
    ...["cut-offs", "import", "organizations"],
    ...["invitations", "registration", "users"],
    ...[
      "attributes",
      "audit",
      "branding",
      "clients",
      "deployment",
      "document-hosts",
      "held-records",
      "issuers",
      "keys",
    ],
    ...["refusals", "resources", "roles", "shards", "upstreams"],
    ...["admin", "introspection", "revocation"],
    ...["isolate.ts", "mail"],
  ],
  "op-auth": [
    ...["index.ts", "app.ts"],
    "preview",
    ...["device", "account"],
    "flow",
    ...["sign-in", "consent"],
    ...["passwords", "addresses", "upstream", "factors", "terms"],
    "step",
    "session",
    ...["authorization", "pages"],
    "runtime",
  ],
};

const libraries = ["protocol", "shared"];

/** Rooms of `shared` that read or change state; the console has none of them. */
const roomsOfState = floors["shared"]!.filter(
  (room) => !["hooks", "http", "config", "secrets", "runtime"].includes(room),
);

test("the console imports types of records, and nothing else of them: it has the admin API alone", () => {
  const wrong = sources("packages/op-console/src").flatMap(({ path, imports }) =>
    imports
      .filter(({ specifier, typeOnly }) => {
        const room = /^@edge-op\/shared\/([a-z]+)\//.exec(specifier)?.[1] ?? "";
        return roomsOfState.includes(room) && !typeOnly;
      })
      .map(({ specifier }) => `${path} imports ${specifier}`),
  );
  expect(wrong).toEqual([]);
});

test("the compact Worker imports the apps of all Workers, and of op-state its classes", () => {
  const imported = sources(`packages/${compactWorker.name}/src`).flatMap(({ imports }) =>
    imports.flatMap(({ specifier }) => /^@edge-op\/(op[a-z-]*)\//.exec(specifier)?.[1] ?? []),
  );
  expect(new Set(imported)).toEqual(new Set(workers.map(({ name }) => name)));
});

/** The packages of the provider that a package imports. */
function foreignPackages(directory: string): Set<string> {
  const specifiers = sources(directory).flatMap(({ imports }) => imports.map(({ specifier }) => specifier));
  return new Set(specifiers.flatMap((specifier) => /^@edge-op\/([a-z-]+)/.exec(specifier)?.[1] ?? []));
}

test("pages imports shared and protocol, shared imports only protocol and the types of hooks, and protocol only jose", () => {
  expect(foreignPackages("packages/pages/src")).toEqual(new Set(["protocol", "shared"]));
  expect(foreignPackages("packages/shared/src")).toEqual(new Set(["protocol", "hooks"]));
  const outside = sources("packages/protocol/src").flatMap(({ imports }) =>
    imports.flatMap(({ specifier }) => (specifier.startsWith(".") ? [] : specifier.replace(/^jose\/.*/, "jose"))),
  );
  expect(new Set(outside)).toEqual(new Set(["jose"]));
});

test("the published libraries import nothing of the provider, and the examples import only them", () => {
  expect(foreignPackages("packages/resource-server/src")).toEqual(new Set());
  expect(foreignPackages("packages/hooks/src")).toEqual(new Set());
  expect(foreignPackages("examples")).toEqual(new Set(["resource-server", "hooks"]));
});

test("no source imports by a path what is not a source, data or text of its package", () => {
  const packages = readdirSync(join(repositoryRoot, "packages"));
  const wrong = packages.flatMap((name) =>
    sources(`packages/${name}/src`).flatMap(({ path, imports }) => {
      const isInside = (file: string) =>
        ["src", "data", "texts"].some((folder) => file.startsWith(`packages/${name}/${folder}/`));
      return imports
        .filter(({ specifier }) => specifier.startsWith(".") && !isInside(join(path, "..", specifier)))
        .map(({ specifier }) => `${path} imports ${specifier}`);
    }),
  );
  expect(wrong).toEqual([]);
});

/** A folder below `src`, or a file that is directly in `src`. */
function roomOf(path: string): string {
  const inside = path.split("/").slice(3);
  return inside.length === 1 ? inside[0]! : inside.slice(0, -1).join("/");
}

test.each(Object.entries(floors))("inside %s every room imports only rooms below it", (name, rooms) => {
  const wrong = sources(`packages/${name}/src`).flatMap(({ path, imports }) => {
    const floor = rooms.indexOf(roomOf(path));
    expect(floor, `${path}: its room has a floor`).toBeGreaterThanOrEqual(0);
    return imports
      .filter(({ specifier }) => {
        if (!specifier.startsWith(".")) return false;
        const imported = roomOf(join(path, "..", specifier));
        return imported !== roomOf(path) && rooms.indexOf(imported) <= floor;
      })
      .map(({ specifier }) => `${path} imports ${specifier}`);
  });
  expect(wrong).toEqual([]);
});

test("code that only one package uses is in that package, not in a library", () => {
  const users = new Map<string, Set<string>>();
  for (const name of readdirSync(join(repositoryRoot, "packages"))) {
    for (const { path, imports } of sources(`packages/${name}/src`)) {
      for (const { specifier } of imports) {
        const [, library, inside] = /^@edge-op\/(protocol|shared)\/(.+)$/.exec(specifier) ?? [];
        const isOwn = specifier.startsWith(".") && libraries.includes(name);
        if (library === undefined && !isOwn) continue;
        const used = isOwn ? join(path, "..", specifier) : `packages/${library}/src/${inside}.ts`;
        users.set(used, (users.get(used) ?? new Set()).add(name));
      }
    }
  }
  const single = [...users].filter(
    ([, packages]) => packages.size === 1 && [...packages].every((name) => !libraries.includes(name)),
  );
  expect(single.map(([path, [name]]) => `${path}: ${name}`)).toEqual([]);
});

test("contexts are created only at the boundary, where the request's body has been read", () => {
  const boundary = [
    "packages/op-management/src/admin-routes.ts",
    // A call of a resource server, which has no body.
    "packages/op-management/src/introspection/token-validation.ts",
    "packages/op-management/src/scim/scim-routes.ts",
    // An object's own requests, without a body.
    "packages/op-state/src/changes/record-copies.ts",
    "packages/op-state/src/keys/key-announcement.ts",
    "packages/op-state/src/sessions/logout-notices.ts",
    "packages/shared/src/http/request-context.ts",
    "packages/shared/src/http/serve-endpoint.ts",
  ];
  const creators = readdirSync(join(repositoryRoot, "packages"))
    .flatMap((name) => sources(`packages/${name}/src`))
    .map(({ path }) => path)
    .filter((path) => /createRequestContext[<(]/.test(readFileSync(join(repositoryRoot, path), "utf8")));
  expect(creators.toSorted()).toEqual(boundary);
});

const packageNames = readdirSync(join(repositoryRoot, "packages"));

describe.each(packageNames)("packages/%s", (name) => {
  const files = sources(`packages/${name}/src`);
  const fileImports = new Map(
    files.map(({ path, imports }) => [
      path,
      imports
        .filter(({ specifier }) => specifier.startsWith("."))
        .map(({ specifier }) => join(path, "..", specifier))
        .filter((imported) => imported.startsWith(`packages/${name}/src/`)),
    ]),
  );

  test("no file imports itself through others, types included", () => {
    expect(files.length).toBeGreaterThan(0);
    expect(findCircles(fileImports)).toEqual([]);
  });

  test("no folder imports itself through others, types included", () => {
    const roomImports = new Map<string, string[]>();
    for (const [path, imports] of fileImports) {
      const room = roomOf(path);
      const others = imports.map(roomOf).filter((other) => other !== room);
      roomImports.set(room, [...(roomImports.get(room) ?? []), ...others]);
    }
    expect(findCircles(roomImports)).toEqual([]);
  });
});

/** The files that each file imports by a path, within its tree or beyond. */
function importsByPath(tree: string): Map<string, string[]> {
  const entries = sources(tree).map(({ path, imports }): [string, string[]] => [
    path,
    imports.flatMap(({ specifier }) => (specifier.startsWith(".") ? [join(path, "..", specifier)] : [])),
  ]);
  return new Map(entries);
}

test("load-tests import edge-op, the lease timing, the limits and imported hashes; only Workers that count calls contain code of Workers", () => {
  const outside = [...importsByPath("load-tests")].flatMap(([path, imports]) =>
    imports.filter((imported) => !imported.startsWith("load-tests/")).map((imported) => [dirname(path), imported]),
  );
  const ofWorkers = outside.filter(([room]) => room === "load-tests/measure/workers").map(([, imported]) => imported);
  expect(ofWorkers.toSorted()).toEqual([
    "packages/op-management/src/index.ts",
    "packages/op-state/src/index.ts",
    "packages/shared/src/http/count-calls.ts",
  ]);
  const others = outside.filter(([room]) => room !== "load-tests/measure/workers").map(([, imported]) => imported);
  expect([...new Set(others)].toSorted()).toEqual([
    "packages/edge-op/src/builds.ts",
    "packages/edge-op/src/bundle-worker.ts",
    "packages/edge-op/src/commands/all-commands.ts",
    "packages/edge-op/src/commands/run-command-line.ts",
    "packages/edge-op/src/console/terminal.ts",
    "packages/edge-op/src/isolate-process.ts",
    "packages/edge-op/src/provider-api.ts",
    "packages/edge-op/testing/person.ts",
    "packages/shared/src/config/lease-timing.ts",
    "packages/shared/src/config/limits.ts",
    "scripts/reference/admin-api-document.ts",
    "test/fixtures/imported-hashes.ts",
  ]);
});

describe.each(["load-tests", "scripts", "packages/edge-op/testing"])("%s", (tree) => {
  const fileImports = importsByPath(tree);

  test("no file imports itself through others, types included", () => {
    expect(fileImports.size).toBeGreaterThan(0);
    expect(findCircles(fileImports)).toEqual([]);
  });

  test("no folder imports itself through others, types included", () => {
    const folderImports = new Map<string, string[]>();
    for (const [path, imports] of fileImports) {
      const others = imports.map((imported) => dirname(imported)).filter((other) => other !== dirname(path));
      folderImports.set(dirname(path), [...(folderImports.get(dirname(path)) ?? []), ...others]);
    }
    expect(findCircles(folderImports)).toEqual([]);
  });
});

test("a cycle is detected", () => {
  const circle = new Map([
    ["a", ["b"]],
    ["b", ["c"]],
    ["c", ["a"]],
  ]);
  expect(findCircles(circle)).toEqual(["a → b → c → a"]);
});

/** The cycles found by a walk along the imports, each as the names on it. */
function findCircles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (node: string, trail: readonly string[]): void => {
    if (trail.includes(node)) circles.push([...trail.slice(trail.indexOf(node)), node].join(" → "));
    if (done.has(node) || trail.includes(node)) return;
    for (const next of new Set(imports.get(node))) visit(next, [...trail, node]);
    done.add(node);
  };
  for (const node of imports.keys()) visit(node, []);
  return circles;
}

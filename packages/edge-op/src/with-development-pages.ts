import type { Request, Response, V4WorkerOptions } from "miniflare";
import type { Socket } from "./describe-workers.ts";

/** Responds to the pages of development, in this process. */
export type ServePage = (request: Request) => Promise<Response>;

/**
 * The Worker in front of the provider's. Everything but the pages is passed on unchanged; a page that refuses a request gets its explanation before
 * the end, and all pages get the name, logo and colours that are tried at `/dev/look`.
 */
const source = `export default {
  async fetch(request, { PAGES, PROVIDER }) {
    const { pathname } = new URL(request.url);
    const isBrowser = request.headers.get("accept")?.includes("text/html");
    const isPanel = pathname === "/" && isBrowser && (request.method === "GET" || request.method === "HEAD");
    if (isPanel || pathname.startsWith("/dev/")) {
      const page = await PAGES.fetch(request);
      // At another name, as behind a proxy, the provider's own start page remains.
      if (!isPanel || page.status !== 421) return page;
    }
    const response = await PROVIDER.fetch(request);
    const id = response.headers.get("request-id");
    const isPage = response.headers.get("content-type")?.startsWith("text/html");
    const look = /(?:^|; )dev-look=([^;]+)/.exec(request.headers.get("cookie") ?? "")?.[1];
    if (isPage && look !== undefined) {
      const restyle = (link) => { link.setAttribute("href", "/dev/style.css?" + look); };
      const tried = new URLSearchParams(look);
      const name = tried.get("DISPLAY_NAME");
      const logo = tried.get("LOGO_URL");
      const show = (image) => { if (logo) image.setAttribute("src", logo); };
      const rename = (text) => { if (name) text.setInnerContent(name); };
      return new HTMLRewriter()
        .on("link[rel=stylesheet]", { element: restyle })
        .on(".brand img", { element: show })
        .on(".brand span", { element: rename })
        .transform(response);
    }
    if (response.status < 400 || id === null || !isPage) return response;
    const explanation = await PAGES.fetch(new URL("/dev/explanation?request=" + encodeURIComponent(id), request.url));
    if (!explanation.ok) return response;
    const text = await explanation.text();
    const append = (main) => { main.append(text, { html: true }); };
    return new HTMLRewriter().on("main", { element: append }).transform(response);
  },
};`;

/** Puts the pages in front of the Worker that listens at a socket. */
export function withDevelopmentPages(
  workers: readonly V4WorkerOptions[],
  { host, port }: Socket,
  serve: ServePage,
): V4WorkerOptions[] {
  const isFront = (socket: { readonly port?: number | undefined }) => socket.port === port;
  const front = workers.find(({ unsafeDirectSockets = [] }) => unsafeDirectSockets.some(isFront));
  if (front === undefined) throw new Error(`no Worker listens at port ${port}`);
  const others = (front.unsafeDirectSockets ?? []).filter((socket) => !isFront(socket));
  const pages: V4WorkerOptions = {
    name: "development-pages",
    modules: [{ type: "ESModule", path: "index.js", contents: source }],
    compatibilityDate: "2026-10-20",
    serviceBindings: { PROVIDER: { name: front.name! }, PAGES: serve },
    unsafeDirectSockets: [{ host, port }],
  };
  return [...workers.map((worker) => (worker === front ? { ...front, unsafeDirectSockets: others } : worker)), pages];
}

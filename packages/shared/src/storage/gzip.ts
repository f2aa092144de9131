/** **gzip** (RFC 1952) of a text, and back. */
export function gzip(text: string): Promise<ArrayBuffer> {
  return transform(text, new CompressionStream("gzip"));
}

/** Throws for anything that is not gzip. */
export async function gunzip(bytes: BufferSource): Promise<string> {
  return new TextDecoder().decode(await transform(bytes, new DecompressionStream("gzip")));
}

function transform(content: BodyInit, by: ReadableWritablePair<Uint8Array, BufferSource>): Promise<ArrayBuffer> {
  return new Response(new Response(content).body!.pipeThrough(by)).arrayBuffer();
}

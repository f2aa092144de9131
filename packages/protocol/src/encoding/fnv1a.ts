/** FNV-1a, 32 bit, over the UTF-16 code units of an ASCII id. @see https://www.rfc-editor.org/rfc/rfc9923 */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash ^= text.charCodeAt(index);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash >>> 0;
}

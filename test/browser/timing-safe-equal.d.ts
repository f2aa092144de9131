/** workerd's own, which the library uses: with the types of a browser page beside it, it must be said again. */
interface SubtleCrypto {
  timingSafeEqual(a: ArrayBuffer | ArrayBufferView, b: ArrayBuffer | ArrayBufferView): boolean;
}

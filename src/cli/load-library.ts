export type Library = typeof import('../index.ts')

/** The library; loaded when a command needs it, so that help and mistakes cost nothing. In `dist/` it stays a file of its own. */
export function loadLibrary(): Promise<Library> {
  return import('../index.ts')
}

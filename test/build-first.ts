/** Worker threads and the command line run from `dist/`: what is tested is what was just built. */
export default async function buildFirst(): Promise<void> {
  const { bundle } = await import('../scripts/build.mjs')
  await bundle()
}

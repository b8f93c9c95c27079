import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { packageDir } from './workplace.mjs'

/** A module of `src/`, for what the library does not export. It is bundled into the folder. */
export async function loadSource(path, folder) {
  const outfile = join(folder, `${path.replace(/\W/g, '-')}.mjs`)
  const entryPoints = [join(packageDir, path)]
  await build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' })
  return import(pathToFileURL(outfile).href)
}

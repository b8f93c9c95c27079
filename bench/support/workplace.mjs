import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const packageDir = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const cliPath = join(packageDir, 'dist/cli.js')

/** A file of this folder. */
export function benchFile(path) {
  return join(packageDir, 'bench', path)
}

/** A throw-away folder with small files, a home and a data folder of its own. Call `remove` at the end. */
export function createWorkplace() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-bench-')))
  const dir = join(base, 'work')
  const home = join(base, 'home')
  for (const folder of [dir, home]) mkdirSync(folder)
  for (let n = 1; n <= 8; n++) writeFileSync(join(dir, `file-${n}.txt`), smallText(n))
  let scripts = 0
  return {
    base,
    dir,
    env: { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), TROUPE_HOME: join(base, 'data') },
    /** Scripts are YAML, and JSON is YAML. */
    script(script) {
      const path = join(base, `script-${++scripts}.yaml`)
      writeFileSync(path, JSON.stringify(script))
      return path
    },
    remove: () => rmSync(base, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/** 8 lines, about 400 bytes. */
function smallText(n) {
  return Array.from({ length: 8 }, (_, line) => `line ${line + 1} of file ${n}: some words that fill it up`).join('\n')
}

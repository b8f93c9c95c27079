import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { loadSource } from '../support/load-source.mjs'
import { median } from '../support/statistics.mjs'
import { createWorkplace, packageDir } from '../support/workplace.mjs'

const uses = 500
const commands = [
  'npm test',
  'cd src && ls -la',
  'grep -rn export src | head -20',
  "find . -name '*.ts' | wc -l",
  'git status && git log --oneline -5',
]

/** What it takes to judge a command, and what the first one costs a thread: it loads the parser. */
export async function decide() {
  const place = createWorkplace()
  try {
    mkdirSync(join(place.dir, 'src'))
    writeFileSync(join(place.dir, 'src/a.ts'), 'export const a = 1\n')
    execFileSync('git', ['init', '-q'], { cwd: place.dir })
    const { createDecider, defaultRules, loadShellParser } = await loadPermissions(place.base)
    const rss = process.memoryUsage.rss()
    const began = performance.now()
    await loadShellParser()
    const judge = createDecider({
      settings: { permissionMode: 'ask', rules: defaultRules },
      agentRules: [],
      grants: [],
      dir: place.dir,
      agentMayLoosen: true,
    })
    judge({ key: 'bash', pattern: 'ls' })
    const first = { value: performance.now() - began, grownMb: (process.memoryUsage.rss() - rss) / 1e6 }
    const each = commands.map((pattern) => median(timed(() => judge({ key: 'bash', pattern }))))
    return [
      { figure: 'decide: a typical command (p50)', value: median(each), unit: 'ms', goal: 1 },
      { figure: 'decide: the dearest of five commands (p50)', value: Math.max(...each), unit: 'ms' },
      { figure: 'decide: the first command of a thread', value: first.value, unit: 'ms' },
      { figure: 'decide: memory of the parser', value: first.grownMb, unit: 'MB' },
    ]
  } finally {
    place.remove()
  }
}

/** One bundle of what belongs together; the parser looks for its files beside it. */
function loadPermissions(folder) {
  for (const name of ['web-tree-sitter.wasm', 'tree-sitter-bash.wasm']) {
    copyFileSync(join(packageDir, 'dist', name), join(folder, name))
  }
  const source = (path) => JSON.stringify(join(packageDir, 'src/permissions', path))
  const entry = join(folder, 'permissions.ts')
  writeFileSync(
    entry,
    `export { createDecider } from ${source('decide.ts')}
export { defaultRules } from ${source('default-rules.ts')}
export { loadShellParser } from ${source('shell/load-shell-parser.ts')}
`,
  )
  return loadSource(relative(packageDir, entry), folder)
}

function timed(work) {
  return Array.from({ length: uses }, () => {
    const began = performance.now()
    work()
    return performance.now() - began
  })
}

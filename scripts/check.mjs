// `npm run check`: installs and builds if needed, then format and lint (biome) and types (tsc). All of them run; any can fail it.
import { join } from 'node:path'
import { fail, prepare, root, say } from './prepare.mjs'
import { runNode } from './run-child.mjs'

const checks = [
  {
    name: 'format and lint',
    args: ['@biomejs/biome/bin/biome', 'check', '.'],
    remedy: 'npm run format repairs formatting',
  },
  { name: 'types', args: ['typescript/bin/tsc', '-p', 'tsconfig.json'], remedy: 'see above' },
]

async function check() {
  await prepare()
  const failed = []
  for (const { name, args, remedy } of checks) {
    const [program, ...rest] = args
    const code = await runNode([join(root, 'node_modules', program), ...rest], { cwd: root })
    if (code !== 0) failed.push(`${name} (${remedy})`)
  }
  if (failed.length > 0) fail(`check failed: ${failed.join(', ')}`)
  say('format, lint and types are fine')
}

check().catch((error) => fail(error.message))

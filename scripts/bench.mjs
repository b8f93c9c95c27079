// `npm run bench [-- --runs N] [FIGURE...]`: installs and builds if needed, then measures. See bench/main.mjs.
import { join } from 'node:path'
import { fail, prepare, root } from './prepare.mjs'
import { runNode } from './run-child.mjs'

async function bench(args) {
  await prepare()
  process.exitCode = await runNode([join(root, 'bench/main.mjs'), ...args], { cwd: root })
}

bench(process.argv.slice(2)).catch((error) => fail(error.message))

// `npm start -- "prompt" [options]`: installs and builds if needed, then `troupe run`.
import { join } from 'node:path'
import { fail, prepare, root } from './prepare.mjs'
import { runNode } from './run-child.mjs'

const defaultPrompt = 'Look around this folder and tell me what is here.'

async function start() {
  await prepare()
  const env = { TROUPE_DEFAULT_PROMPT: defaultPrompt, ...process.env }
  // npm runs scripts in the package's folder; relative paths are meant from where the user stands.
  const cwd = process.env.npm_lifecycle_event === 'start' ? (process.env.INIT_CWD ?? root) : process.cwd()
  process.exitCode = await runNode([join(root, 'dist/cli.js'), 'run', ...process.argv.slice(2)], { cwd, env })
}

start().catch((error) => fail(error.message))

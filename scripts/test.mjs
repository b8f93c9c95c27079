// `npm test [-- vitest arguments]`: installs and builds if needed, then runs the tests and counts them on the last line.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fail, prepare, root, say } from './prepare.mjs'
import { runNode } from './run-child.mjs'

const lanes = {
  '--chaos': { env: { TROUPE_CHAOS: 'long' }, files: ['test/chaos'] },
  '--real': { env: { TROUPE_TEST_REAL: '1' }, files: ['src/models/'] },
}

async function test(args) {
  await prepare()
  const chosen = args.filter((arg) => arg in lanes).map((arg) => lanes[arg])
  const rest = args.filter((arg) => !(arg in lanes))
  const folder = mkdtempSync(join(tmpdir(), 'troupe-test-'))
  try {
    process.exitCode = await runTests({ chosen, rest, outputFile: join(folder, 'results.json') })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runTests({ chosen, rest, outputFile }) {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${outputFile}`]
  const files = chosen.flatMap((lane) => lane.files)
  const env = Object.assign({ ...process.env }, ...chosen.map((lane) => lane.env))
  const code = await runNode([vitest, 'run', ...reporters, ...files, ...rest], { cwd: root, env })
  const { passed, failed, skipped } = count(outputFile, code)
  if (skipped > 0) console.log(`${skipped} skipped`)
  console.log(`${passed} passed, ${failed} failed`)
  return code === 0 && failed > 0 ? 1 : code
}

/** A file that could not be loaded, or an error outside of all tests, counts as one failure. */
function count(outputFile, code) {
  const results = existsSync(outputFile) ? JSON.parse(readFileSync(outputFile, 'utf8')) : undefined
  if (results === undefined) say('vitest left no results: see above')
  const broken = (results?.testResults ?? []).filter(isBroken).length
  const failed = (results?.numFailedTests ?? 0) + broken
  return {
    passed: results?.numPassedTests ?? 0,
    skipped: (results?.numPendingTests ?? 0) + (results?.numTodoTests ?? 0),
    failed: failed === 0 && code !== 0 ? 1 : failed,
  }
}

function isBroken({ status, assertionResults }) {
  return status === 'failed' && !assertionResults.some((result) => result.status === 'failed')
}

test(process.argv.slice(2)).catch((error) => fail(error.message))

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { exitCodes } from '../src/cli/exit-codes.ts'
import { processIo } from '../src/cli/io.ts'
import { createProgram } from '../src/cli/program.ts'
import { configSchema } from '../src/core/config.ts'
import {
  anchors,
  codeSpans,
  commandLines,
  linkTargets,
  loadDocument,
  loadDocuments,
  root,
} from './support/documents.ts'

const io = processIo()

/** The program with actions that do nothing: parsing alone decides. */
function parser(): Command {
  const program = createProgram({ io, finish: () => undefined })
  for (const command of program.commands) command.action(() => undefined)
  return program
}

describe('commands', () => {
  const packageJson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

  /** The arguments of `troupe` that a command line comes to; `undefined` for another program. */
  function troupeArguments(words: string[]): string[] | undefined {
    const [program, first, ...rest] = words
    if (program === 'troupe') return words.slice(1)
    if (program === 'npx' && first === 'troupe') return rest
    if (program === 'node' && first === 'dist/cli.js') return rest
    if (program === 'npm' && first === 'start') return ['run', ...(rest[0] === '--' ? rest.slice(1) : rest)]
    return undefined
  }

  test('every troupe command line in a code block parses', async () => {
    const lines = commandLines().map(({ words, at }) => ({ at, args: troupeArguments(words) }))
    const ours = lines.filter((line) => line.args !== undefined)
    expect(ours.length).toBeGreaterThan(20)
    for (const { args, at } of ours) {
      const parsed = parser().parseAsync(args!, { from: 'user' })
      await expect(parsed, at).resolves.toBeDefined()
    }
  })

  test('every npm script that is named exists', () => {
    const named = loadDocuments().flatMap(({ path, text }) =>
      [...text.matchAll(/\bnpm (?:run ([\w:]+)|(start|test)\b)/g)].map(([, run, short]) => `${path}: ${run ?? short}`),
    )
    const known = Object.keys(packageJson.scripts)
    expect(named.filter((name) => !known.includes(name.split(': ')[1]!))).toEqual([])
  })

  test('every command and flag named in prose exists', () => {
    const { commands, options } = parser()
    const names = commands.map((command) => command.name())
    const flags = [...options, ...commands.flatMap((command) => command.options)].map(({ long }) => long)
    const known = [...flags, '--help', '--version']
    for (const document of loadDocuments()) {
      const spans = codeSpans(document)
      const wrongNames = spans
        .map((span) => /^troupe ([a-z][a-z-]*)/.exec(span)?.[1])
        .filter((name) => name !== undefined && !names.includes(name))
      const wrongFlags = spans
        .filter((span) => /^(troupe |--)/.test(span))
        .flatMap((span) => span.match(/(?<=^|\s)--[a-z-]+/g) ?? [])
        .filter((flag) => !known.includes(flag))
      expect([...wrongNames, ...wrongFlags], document.path).toEqual([])
    }
  })

  test('docs/cli.md has a section for each command, with each of its flags', () => {
    const sections = loadDocument('docs/cli.md').text.split(/^## /m)
    for (const command of parser().commands) {
      const section = sections.find((text) => new RegExp(`^\`troupe ${command.name()}[ \`]`).test(text))
      const missing = command.options.filter(({ long }) => !section?.includes(`\`${long}`)).map(({ long }) => long)
      expect({ command: command.name(), described: section !== undefined, missing }).toEqual({
        command: command.name(),
        described: true,
        missing: [],
      })
    }
  })

  test.each(['docs/cli.md', 'docs/ci.md'])('%s lists the exit codes that there are', (path) => {
    const section = /^## Exit codes\n([\s\S]*?)(?=^## |^A call)/m.exec(loadDocument(path).text)?.[1] ?? ''
    const listed = [...section.matchAll(/^\| (\d+) /gm)].map(([, code]) => Number(code))
    expect(listed).toEqual(Object.values(exitCodes))
  })
})

describe('names', () => {
  test('every relative link leads to a file, and every anchor to a heading', () => {
    for (const document of loadDocuments()) {
      const broken = linkTargets(document).filter((target) => {
        const [path = '', anchor] = target.split('#')
        const file = path === '' ? document.path : join(dirname(document.path), path)
        if (!existsSync(join(root, file))) return true
        return anchor !== undefined && !anchors(loadDocument(file)).includes(anchor)
      })
      expect(broken, document.path).toEqual([])
    }
  })

  test('every path of the repository that is named exists', () => {
    const ours = /^(src|docs|test|bench|scripts|examples|agents|skills|\.ci)\/[\w./-]*$/
    for (const document of loadDocuments()) {
      const missing = codeSpans(document)
        .filter((span) => ours.test(span) && !foreign.has(span))
        .filter((path) => !existsSync(join(root, path)))
      expect(missing, document.path).toEqual([])
    }
  })
  // Of an imagined repository, in examples.
  const foreign = new Set(['src/parse.ts'])

  test('every configuration key is described, with its default', () => {
    const { text } = loadDocument('docs/cli.md')
    const { shape } = configSchema
    const inner = {
      '': shape,
      'of `limits`': shape.limits.unwrap().shape,
      'of `budget`': shape.budget.unwrap().shape,
      'of a server': shape.servers.unwrap().valueType.shape,
    }
    for (const [title, keys] of Object.entries(inner)) {
      const head = `| key ${title}`.trimEnd()
      const table = text.split('\n\n').find((part) => new RegExp(`^${head.replace('|', '\\|')} +\\|`).test(part))
      const rows = [...(table ?? '').matchAll(/^\| `(\w+)`/gm)].map(([, key]) => key)
      expect({ title, rows: rows.sort() }).toEqual({ title, rows: Object.keys(keys).sort() })
    }
    const { workers, host, toolset } = configSchema.parse({})
    for (const [key, value] of Object.entries({ workers, host, toolset })) {
      expect(text).toMatch(new RegExp(`^\\| \`${key}\` .*\\| \`${value}\` +\\|$`, 'm'))
    }
  })

  test.each([
    ['docs/library.md', 'src/core/events.ts'],
    ['docs/journal.md', 'src/core/records.ts'],
  ])('%s names every type of %s', (path, source) => {
    const declared = [...readFileSync(join(root, source), 'utf8').matchAll(/type: '(\w+\.\w+)'/g)].map(
      ([, type]) => type,
    )
    const named = codeSpans(loadDocument(path))
    expect(declared.length).toBeGreaterThan(10)
    expect(declared.filter((type) => !named.includes(type!))).toEqual([])
  })
})

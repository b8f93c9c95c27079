import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createToolWorld, removeToolWorlds, type ToolWorld } from '../src/tools/testing/tool-world.ts'

// What users of other runtimes reported of edit and write (C01 to C13, C63), each in its own smallest input.

let world: ToolWorld
beforeEach(async () => {
  world = await createToolWorld()
})
afterAll(removeToolWorlds)

type Case = { file?: string | Buffer; old: string; now: string; all?: boolean; gives: string | Buffer | 'error' }

/** The file after the edit; where that fails, it must be as it was. */
async function edited({ file, old, now, all }: Case): Promise<Buffer | 'error'> {
  if (file !== undefined) await world.write('f', file)
  const args = { file_path: 'f', old_string: old, new_string: now, replace_all: all ?? false }
  const { isError } = await world.result('edit', args)
  if (!isError) return world.bytes('f')
  expect(await world.bytes('f')).toEqual(Buffer.from(file ?? ''))
  return 'error'
}

const nested = 'function f() {\n  if (a) {\n    one();\n  }\n  two();\n}\nfunction g() {\n  three();\n}\n'
const css = (filler: string) =>
  `.a {\n  color: red;\n  outline-offset: 3px;\n}\n.b { margin: 0; }\n${filler}.c { margin: 0; }\n.d { margin: 0; }\n/* SECTION 27 */\n.z { top: 0; }\n`
const far = { old: '  outline-offset: 3px;\n}\n\n/* SECTION 27 */', now: '  outline-offset: 2px;' }
const manyLf = Array.from({ length: 99 }, (_, n) => `line ${n}\n`).join('')
const marked = Buffer.from('\uFEFFn=1\ná\n')
const dollars = "'$& $1 $$ $` $<x>'"

const cases: [string, Case][] = [
  [
    'C01 dollar signs, everywhere',
    {
      file: 'pid = OLD;\nname = OLD;\n',
      old: 'OLD',
      now: dollars,
      all: true,
      gives: `pid = ${dollars};\nname = ${dollars};\n`,
    },
  ],
  ['C01 dollar signs, once', { file: 'pid = OLD;\n', old: 'OLD', now: dollars, gives: `pid = ${dollars};\n` }],
  ['C01 dollar and quote', { file: 'a OLD b', old: 'OLD', now: "$'", gives: "a $' b" }],
  ['C02 text from two places', { file: css(''), ...far, gives: 'error' }],
  ['C02 text from two far places', { file: css('.x {}\n'.repeat(2000)), ...far, gives: 'error' }],
  [
    'C03 an invented middle',
    { file: nested, old: 'function f() {\n  invented();\n}', now: 'function f() {\n  done();\n}', gives: 'error' },
  ],
  ['C05 no old text, a file with content', { file: 'KEEP=1\nKEEP2=2\n', old: '', now: 'X=1\n', gives: 'error' }],
  ['C05 no old text, an empty file', { file: '', old: '', now: 'X=1\n', gives: 'X=1\n' }],
  ['C05 no old text, no file', { old: '', now: 'X=1\n', gives: 'X=1\n' }],
  ['C05 no old text, everywhere', { file: 'abc', old: '', now: 'X', all: true, gives: 'error' }],
  [
    'C06 wrong indentation',
    {
      file: 'class K:\n    def m(self):\n            if c:\n                r = f()\n                return r\n',
      old: '        if c:\n            r = f()\n            return r',
      now: '        if c:\n            n = g()\n            return n',
      gives: 'class K:\n    def m(self):\n            if c:\n                n = g()\n                return n\n',
    },
  ],
  [
    'C06 an exact match',
    { file: 'if a:\n    x()\n', old: '    x()', now: '        x()', gives: 'if a:\n        x()\n' },
  ],
  [
    'C06 tabs',
    {
      file: '\tif (a) {\n\t\tb();\n\t}\n',
      old: '    if (a) {\n        b();\n    }',
      now: '    if (a) {\n        c();\n    }',
      gives: '\tif (a) {\n\t\tc();\n\t}\n',
    },
  ],
  ['C08 CRLF', { file: 'one\r\ntwo\r\nthree', old: 'one\ntwo', now: '1\n2', gives: '1\r\n2\r\nthree' }],
  [
    'C08 CRLF everywhere',
    { file: 'one\r\ntwo\r\nthree', old: 'one\ntwo', now: '1\n2', all: true, gives: '1\r\n2\r\nthree' },
  ],
  ['C08 mixed', { file: 'a\nb\r\nc\nd\n', old: 'c\nd', now: 'C\nD', gives: 'a\nb\r\nC\nD\n' }],
  ['C08 a lone CR', { file: 'p\rq\nold\nz\n', old: 'old', now: 'new', gives: 'p\rq\nnew\nz\n' }],
  [
    'C08 one CRLF of many LF',
    {
      file: `${manyLf}last\r\n`,
      old: 'line 7\n',
      now: 'LINE 7\n',
      gives: `${manyLf.replace('line 7\n', 'LINE 7\n')}last\r\n`,
    },
  ],
  ['C08 CRLF in the old text', { file: 'x\r\ny\r\n', old: 'x\r\ny', now: 'x\r\nz', gives: 'x\r\nz\r\n' }],
  ['C09 a mark, on its line', { file: marked, old: 'n=1', now: 'n=2', gives: Buffer.from('\uFEFFn=2\ná\n') }],
  ['C09 a mark, elsewhere', { file: marked, old: 'á', now: 'é', gives: Buffer.from('\uFEFFn=1\né\n') }],
  ['C09 a mark, found loosely', { file: marked, old: 'n=1  ', now: 'n=2', gives: Buffer.from('\uFEFFn=2\ná\n') }],
  [
    'C09 no UTF-8',
    { file: Buffer.from('n=1\n\xff\n', 'latin1'), old: 'n=1', now: 'n=2', gives: Buffer.from('n=2\n\xff\n', 'latin1') },
  ],
  ['C10 other quotes', { file: 't = ’x’;\nu = 1;\n', old: 'u = 1', now: 'u = 2', gives: 't = ’x’;\nu = 2;\n' }],
  ['C10 quotes made plain', { file: 'say(‘hi’)\n', old: 'say(‘hi’)', now: "say('hi')", gives: "say('hi')\n" }],
  [
    'C10 decomposed letters',
    { file: 'cafe\u0301 = 1\nrest e\u0301\n', old: 'caf\u00e9 = 1', now: 'caf\u00e9 = 2', gives: 'error' },
  ],
  ['C10 joined emoji', { file: "s = '👩‍💻';\n", old: "s = '👩‍💻'", now: "s = '👩‍💻!'", gives: "s = '👩‍💻!';\n" }],
  ['C63 an escaped line break', { file: 'a\nb\n', old: 'a\\nb', now: 'a\\nc', gives: 'error' }],
]

test.each(cases)('%s', async (_, given) => {
  const { gives } = given
  expect(await edited(given)).toEqual(gives === 'error' ? gives : Buffer.from(gives))
})

describe('write', () => {
  test('C10 keeps typographic characters', async () => {
    const content = 'd\u2019accord \u201Cok\u201D \u2014\n'
    await world.result('write', { file_path: 'f', content })
    expect(await world.bytes('f')).toEqual(Buffer.from(content))
  })

  test('C09 writes what it is given: no mark where there was one, never two', async () => {
    await world.write('f', marked)
    await world.result('write', { file_path: 'f', content: 'n=2\n' })
    expect(await world.bytes('f')).toEqual(Buffer.from('n=2\n'))
    await world.result('write', { file_path: 'f', content: '\uFEFFn=3\n' })
    expect(await world.bytes('f')).toEqual(Buffer.from('\uFEFFn=3\n'))
  })

  test.each(['full', 'compact'] as const)('C63 keeps an escaped line break in code (%s)', async (toolset) => {
    await world.result('write', { file_path: 'f', content: "print('hello\\nworld')" }, { toolset })
    expect(await world.text('f')).toBe("print('hello\\nworld')")
  })

  test('C13 is refused where another has changed the file since it was read', async () => {
    await world.write('f', 'one\n')
    await world.result('read', { file_path: 'f' })
    const known = { ...world.files }
    await world.result('edit', { file_path: 'f', old_string: 'one', new_string: 'two' }, { files: {} })
    const late = await world.result('write', { file_path: 'f', content: 'three\n' }, { files: known })
    expect(late).toMatchObject({ isError: true, metadata: { code: 'stale' } })
    expect(await world.text('f')).toBe('two\n')
  })
})

describe('what is no file', () => {
  test.each(['read', 'edit', 'grep'])(
    '%s tells at once of a FIFO, a folder, a device',
    async (tool) => {
      await world.run('mkfifo fifo; mkdir folder')
      const args = (path: string) =>
        tool === 'grep'
          ? { pattern: 'x', path }
          : { file_path: path, ...(tool === 'edit' && { old_string: 'a', new_string: 'b' }) }
      expect((await world.result(tool, args('fifo'))).output).toContain('is a FIFO, not a file')
      expect((await world.result(tool, args('/dev/stdin'))).output).toContain('belongs to the system')
      if (tool === 'edit') expect((await world.result(tool, args('folder'))).output).toContain('is a folder')
    },
    10_000,
  )
})

import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createToolWorld, removeToolWorlds, type ToolWorld } from './testing/tool-world.ts'

let world: ToolWorld
beforeEach(async () => {
  world = await createToolWorld()
})
afterAll(removeToolWorlds)

const read = (file_path: string, more: Record<string, unknown> = {}) => world.result('read', { file_path, ...more })
const numbers = (n: number) => Array.from({ length: n }, (_, i) => `line ${i + 1}\n`).join('')

describe('read', () => {
  test('numbers lines and reports what was read', async () => {
    await world.write('poem.txt', 'one\r\ntwo\nthree')
    const result = await read('poem.txt')
    expect(result.output).toBe('     1\tone\n     2\ttwo\n     3\tthree')
    expect(result.touched).toEqual([
      { path: `${world.dir}/poem.txt`, kind: 'read', hash: expect.any(String), lines: { from: 1, to: 3, of: 3 } },
    ])
    expect(world.asked).toEqual([{ key: 'read', pattern: 'poem.txt' }])
  })

  test('shows a window and says how to go on', async () => {
    await world.write('long.txt', numbers(10))
    const result = await read('long.txt', { offset: 3, limit: 2 })
    expect(result.output).toBe(
      '     3\tline 3\n     4\tline 4\n[showing lines 3-4 of 10 in long.txt; call read again with offset=5 to continue]',
    )
    expect(result.touched?.[0]?.lines).toEqual({ from: 3, to: 4, of: 10 })
  })

  test('names itself as the toolset does', async () => {
    await world.write('long.txt', numbers(2001))
    const { output } = await world.result('read_file', { file_path: 'long.txt' }, { toolset: 'compact' })
    expect(output).toMatch(/of 2001 in long.txt; call read_file again with offset=\d+ to continue\]$/)
  })

  test('pages end where the output limit is, so that no line between two pages is lost', async () => {
    await world.write('wide.txt', `${'x'.repeat(199)}\n`.repeat(1000))
    const seen: number[] = []
    for (let offset = 1; offset > 0; ) {
      const { output, spilled } = await read('wide.txt', { offset })
      expect(output.length).toBeLessThanOrEqual(30_000)
      expect(spilled).toBeUndefined()
      seen.push(...Array.from(output.matchAll(/^ *(\d+)\t/gm), ([, n]) => Number(n)))
      offset = Number(/offset=(\d+)/.exec(output)?.[1] ?? 0)
    }
    expect(seen).toEqual(Array.from({ length: 1000 }, (_, i) => i + 1))
  })

  test('beyond the end tells how long the file is, without an error', async () => {
    await world.write('poem.txt', 'one\ntwo\nthree')
    const result = await read('poem.txt', { offset: 9 })
    expect(result).toMatchObject({ isError: false, output: 'poem.txt has 3 lines; offset 9 is past its end.' })
    expect(result.touched).toBeUndefined()
  })

  test('takes offset 0 as the start and refuses what lies before it', async () => {
    await world.write('five.txt', '1\n2\n3\n4\n5\n')
    expect((await read('five.txt', { offset: 0, limit: 1 })).output).toContain('     1\t1')
    expect((await read('five.txt', { offset: 5 })).output).toBe('     5\t5')
    expect((await read('five.txt', { offset: -20 })).isError).toBe(true)
    expect((await read('five.txt', { limit: 0 })).isError).toBe(true)
    expect((await read('five.txt', { offset: 6 })).output).toContain('5 lines')
  })

  test('says that an empty file is empty', async () => {
    await world.write('empty', '')
    expect(await read('empty')).toMatchObject({ isError: false, output: 'empty is an empty file.' })
  })

  test('clamps a long line without splitting a character', async () => {
    await world.write('min.js', `${'x'.repeat(1999)}😀${'y'.repeat(40_000)}\nnext\n`)
    const { output } = await read('min.js')
    expect(output.length).toBeLessThan(2200)
    expect(output).toContain('line cut')
    expect(output).toContain('     2\tnext')
    expect(Buffer.from(output).toString()).toBe(output)
  })

  test.each([
    ['text with multi-byte characters at the sample', Buffer.from('a'.repeat(998) + '日本語'.repeat(50)), '日本語'],
    ['a source file', Buffer.from('//注释\nmodule m;\n'), '//注释'],
    ['UTF-16, little end first', Buffer.from([0xff, 0xfe, 0x68, 0, 0x69, 0, 0x0a, 0]), '     1\thi'],
    ['UTF-16, big end first', Buffer.from([0xfe, 0xff, 0, 0x68, 0, 0x69, 0, 0x0a]), '     1\thi'],
    ['Latin-1', Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]), 'caf'],
    ['a byte order mark', Buffer.from('\uFEFFn=1\n'), '     1\tn=1'],
  ])('takes %s as text', async (_, bytes, expected) => {
    await world.write('x.v', bytes)
    expect((await read('x.v')).output).toContain(expected)
  })

  test.each([
    ['a program', [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0]],
    ['a PNG image', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0]],
    ['a JPEG image', [0xff, 0xd8, 0xff, 0xe0, 0, 0x10, 0x4a, 0x46, 0x49, 0x46]],
    ['an archive', [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0]],
    ['a binary file', [1, 2, 3, 0, 0, 0, 0, 0, 0, 0]],
  ])('names %s as such', async (kind, bytes) => {
    await world.write('prog', Buffer.from(bytes))
    expect((await read('prog')).output).toMatch(
      new RegExp(`^prog is ${kind} \\(10 bytes\\).* only text can be read\\.$`),
    )
  })

  test('lists a folder', async () => {
    await world.write('src/b.ts', '')
    await world.write('src/deep/c.ts', '')
    await world.write('src/.env', '')
    expect((await read('src')).output).toBe('src is a folder with 3 entries:\n.env\nb.ts\ndeep/')
  })

  test('lists odd names on one line each, and says where a listing ends', async () => {
    await world.write('d/new\nline', '')
    await world.write('d/\u001b[31mred', '')
    expect((await read('d')).output).toBe('d is a folder with 2 entries:\n"\\u001b[31mred"\n"new\\nline"')
    expect((await read('d', { offset: 3 })).output).toBe('d has 2 entries; offset 3 is past its end.')
  })

  test('offers near names for a file that is not there', async () => {
    await world.write('src/index.ts', '')
    await world.write('src/other.md', '')
    const result = await read('src/indx.ts')
    expect(result).toMatchObject({ isError: true, output: 'src/indx.ts does not exist. Did you mean src/index.ts?' })
    expect((await read('none/such/x.ts')).output).toBe('none/such/x.ts does not exist, and its folder neither.')
    expect((await read('src/index.ts/x')).output).toContain('does not exist')
  })

  test('pages through a huge file, and begins anew when it has changed', async () => {
    await world.run('seq 1 2000000 > big.log')
    const page = async (offset: number) => (await read('big.log', { offset, limit: 3 })).output.split('\n').slice(0, 3)
    const expected = (from: number) => [0, 1, 2].map((n) => `${String(from + n).padStart(6)}\t${from + n}`)
    for (const offset of [1, 4, 7, 1_500_000, 1_500_003, 5, 1_500_006])
      expect(await page(offset)).toEqual(expected(offset))
    await world.run("sed -i '1d' big.log")
    expect((await page(1_500_009))[0]).toBe('1500009\t1500010')
  })

  test('reads a window of a huge file without counting all of it', async () => {
    await world.run(`yes 'some text of a line' | head -c 20000000 > big.log`)
    const result = await read('big.log', { offset: 5, limit: 2 })
    expect(result.output).toBe(
      '     5\tsome text of a line\n     6\tsome text of a line\n[showing lines 5-6 of more than 6 in big.log; call read again with offset=7 to continue]',
    )
    const end = await read('big.log', { offset: 999_999, limit: 10 })
    expect(end.output).toBe('999999\tsome text of a line\n1000000\tsome text of a line')
    expect((await read('big.log', { offset: 2_000_000 })).output).toContain('has 1000000 lines')
    expect(result.touched?.[0]?.hash).toBe(end.touched?.[0]?.hash)
    await world.run('printf x >> big.log')
    expect((await read('big.log', { limit: 1 })).touched?.[0]?.hash).not.toBe(end.touched?.[0]?.hash)
  })
})

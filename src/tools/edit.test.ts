import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createToolWorld, removeToolWorlds, type ToolWorld } from './testing/tool-world.ts'

let world: ToolWorld
beforeEach(async () => {
  world = await createToolWorld()
})
afterAll(removeToolWorlds)

const edit = (path: string, old_string: string, new_string: string, more: Record<string, unknown> = {}) =>
  world.result('edit', { file_path: path, old_string, new_string, ...more })

describe('edit', () => {
  test('puts dollar signs into the file as they are', async () => {
    await world.write('a.txt', 'pid = OLD;\nname = OLD;\n')
    await edit('a.txt', 'OLD', "'$& $1 $$ $` $<x>'", { replace_all: true })
    expect(await world.text('a.txt')).toBe("pid = '$& $1 $$ $` $<x>';\nname = '$& $1 $$ $` $<x>';\n")

    await world.write('b.txt', 'one OLD here')
    await edit('b.txt', 'OLD', "$'")
    expect(await world.text('b.txt')).toBe("one $' here")
  })

  test('does not match text that is stitched together from far places', async () => {
    const css = `.a {\n  outline-offset: 3px;\n}\n${'.b { margin: 0; }\n'.repeat(2000)}/* SECTION 27 */\n.z { top: 0; }\n`
    await world.write('a.css', css)
    const result = await edit('a.css', '  outline-offset: 3px;\n}\n\n/* SECTION 27 */', '  outline-offset: 2px;')
    expect(result).toMatchObject({ isError: true, how: 'error' })
    expect(result.output).toContain('not found')
    expect(await world.text('a.css')).toBe(css)
  })

  test('shows the closest passage with its lines when the text is not there', async () => {
    await world.write('f.ts', 'const a = 1\nfunction f() {\n  two()\n}\n')
    const { output } = await edit('f.ts', 'function f() {\n  invented()\n}', 'x')
    expect(output).toContain('Read f.ts again with read')
    expect(output).toContain('     2\tfunction f() {\n     3\t  two()\n     4\t}')
  })

  test('names the lines of several matches and changes nothing', async () => {
    await world.write('a.txt', 'x\ny\nx\n')
    const result = await edit('a.txt', 'x', 'z')
    expect(result.isError).toBe(true)
    expect(result.output).toContain('found 2 times in a.txt, on lines 1, 3')
    expect(await world.text('a.txt')).toBe('x\ny\nx\n')
  })

  test('explains a miss to a small model without calling it an error', async () => {
    await world.write('a.txt', 'x\n')
    const args = { file_path: 'a.txt', old_string: 'q', new_string: 'z' }
    const result = await world.result('edit_file', args, { toolset: 'compact' })
    expect(result).toMatchObject({ isError: false, how: 'ok' })
    expect(result.output).toContain('read_file')
  })

  test('refuses an empty old_string on a file with content and names the write tool', async () => {
    await world.write('k.env', 'KEEP=1\nKEEP2=2\n')
    const result = await edit('k.env', '', 'X=1\n')
    expect(result.isError).toBe(true)
    expect(result.output).toContain('use write')
    expect((await edit('k.env', '', 'X', { replace_all: true })).isError).toBe(true)
    expect(await world.text('k.env')).toBe('KEEP=1\nKEEP2=2\n')
  })

  test('creates a file from an empty old_string, or fills an empty one', async () => {
    await world.write('empty.txt', '')
    expect((await edit('empty.txt', '', 'X=1\n')).isError).toBe(false)
    expect((await edit('new/deep/file.txt', '', 'X=1\n')).isError).toBe(false)
    expect(await world.text('empty.txt')).toBe('X=1\n')
    expect(await world.text('new/deep/file.txt')).toBe('X=1\n')
  })

  test('refuses a change that changes nothing and leaves the file alone', async () => {
    await world.write('a.txt', 'x\n')
    const before = await world.run('stat -c %Y%i a.txt')
    expect((await edit('a.txt', 'x', 'x')).isError).toBe(true)
    expect(await world.run('stat -c %Y%i a.txt')).toBe(before)
  })

  test.each([
    ['a CRLF file takes LF text', 'one\r\ntwo\r\nthree', 'one\ntwo', '1\n2', '1\r\n2\r\nthree'],
    ['a mixed file keeps LF where it has LF', 'a\nb\r\nc\nd\n', 'c\nd', 'C\nD', 'a\nb\r\nC\nD\n'],
    ['a mixed match keeps each of its line breaks', 'a\r\nb\nc', 'a\nb\nc', 'A\nB\nC', 'A\r\nB\nC'],
    ['a lone CR stays', 'p\rq\nold\nz\n', 'old', 'new', 'p\rq\nnew\nz\n'],
    ['CRLF text matches itself', 'x\r\ny\r\n', 'x\r\ny', 'x\r\nz', 'x\r\nz\r\n'],
    ['a new line in a CRLF file ends in CRLF', 'a\r\nb\r\n', 'b', 'b\nc', 'a\r\nb\r\nc\r\n'],
    ['old text that begins with a line break takes it whole', 'a\r\nb\r\nc', '\nb', '', 'a\r\nc'],
    ['new text begins with the line break of the file', 'a\r\nb\r\n', '\nb', '\nb\nc', 'a\r\nb\r\nc\r\n'],
    ['a missing final newline stays missing', 'a\nb', 'b', 'c', 'a\nc'],
    ['an exact match is taken verbatim', 'if a:\n    x()\n', '    x()', '        x()', 'if a:\n        x()\n'],
    ['a longer ZWJ sequence survives', "s = '👩‍💻';\n", "s = '👩‍💻'", "s = '👩‍💻!'", "s = '👩‍💻!';\n"],
    ['typographic quotes are not the plain ones', 'say(‘hi’)\n', 'say(‘hi’)', "say('hi')", "say('hi')\n"],
    ['other quotes stay', "t = 'x’y';\nu = 1;\n", 'u = 1', 'u = 2', "t = 'x’y';\nu = 2;\n"],
  ])('%s', async (_, file, old, replacement, expected) => {
    await world.write('f.txt', file)
    const result = await edit('f.txt', old, replacement)
    expect(result.output).toContain('Edited f.txt')
    expect(await world.text('f.txt')).toBe(expected)
  })

  test('changes only the bytes of one line among other line breaks', async () => {
    const lines = Array.from({ length: 100 }, (_, i) => `line ${i}${i === 40 ? '\r\n' : '\n'}`)
    await world.write('f.txt', lines.join(''))
    await edit('f.txt', 'line 70\n', 'LINE 70\n')
    expect(await world.text('f.txt')).toBe(lines.join('').replace('line 70', 'LINE 70'))
  })

  test('replaces every occurrence in a CRLF file', async () => {
    await world.write('f.txt', 'one\r\ntwo\r\none\r\ntwo\r\n')
    await edit('f.txt', 'one\ntwo', '1\n2', { replace_all: true })
    expect(await world.text('f.txt')).toBe('1\r\n2\r\n1\r\n2\r\n')
  })

  test('keeps a byte order mark and bytes that are no UTF-8', async () => {
    const bom = Buffer.from([0xef, 0xbb, 0xbf])
    await world.write('bom.txt', Buffer.concat([bom, Buffer.from('n=1\ná\n')]))
    await edit('bom.txt', 'n=1', 'n=2')
    await edit('bom.txt', 'á', 'é')
    expect(await world.bytes('bom.txt')).toEqual(Buffer.concat([bom, Buffer.from('n=2\né\n')]))

    await world.write('latin.txt', Buffer.from([0x6e, 0x3d, 0x31, 0x0a, 0xff, 0x0a]))
    await edit('latin.txt', 'n=1', 'n=2')
    expect(await world.bytes('latin.txt')).toEqual(Buffer.from([0x6e, 0x3d, 0x32, 0x0a, 0xff, 0x0a]))
  })

  test('does not look for a byte order mark alone', async () => {
    await world.write('bom.txt', '\uFEFFabc\n')
    const result = await edit('bom.txt', '\uFEFF', 'x')
    expect(result).toMatchObject({ isError: true, output: expect.stringContaining('byte order mark') })
    expect(await world.text('bom.txt')).toBe('\uFEFFabc\n')
  })

  test('tears no character apart, and writes none that is torn', async () => {
    await world.write('f.txt', "s = '😀'\n")
    for (const [old, replacement] of [
      ['\ud83d', 'x'],
      ['s', '\ud83d'],
    ] as const) {
      const result = await edit('f.txt', old, replacement)
      expect(result).toMatchObject({ isError: true, output: expect.stringContaining('half of a character') })
    }
    const written = await world.result('write', { file_path: 'f.txt', content: 'a\ude00b' })
    expect(written).toMatchObject({ isError: true, output: expect.stringContaining('half of a character') })
    expect(await world.text('f.txt')).toBe("s = '😀'\n")
  })

  test('replaces a hundred thousand places that are found loosely', async () => {
    await world.write('f.txt', '  a  b\n'.repeat(100_000))
    const result = await edit('f.txt', 'a b\n', 'cc\n', { replace_all: true })
    expect(result.output).toContain('in 100000 places')
    expect(await world.text('f.txt')).toBe('  cc\n'.repeat(100_000))
  })

  test.each(['utf16le', 'utf16be'])('takes %s for what it is, and keeps it', async (coding) => {
    const bytes = (text: string) => {
      const little = Buffer.from(`\uFEFF${text}`, 'utf16le')
      return coding === 'utf16le' ? little : little.swap16()
    }
    await world.write('wide.txt', bytes('one\r\n  zwei ü\r\n'))
    const args = { file_path: 'wide.txt', old_string: 'one\nzwei ü', new_string: 'one\nzwei ö\ndrei' }
    const result = await world.result('edit', args)
    expect(await world.bytes('wide.txt')).toEqual(bytes('one\r\n  zwei ö\r\n  drei\r\n'))
    expect(result.metadata?.diff).toContain('+  zwei ö')
    const miss = await world.result('edit', { file_path: 'wide.txt', old_string: 'zwei äö und drei', new_string: 'x' })
    expect(miss).toMatchObject({ isError: true })
  })

  test('says so where only line breaks would differ, which are the file’s own', async () => {
    await world.write('a.txt', 'a\r\nb\r\n')
    const result = await world.result('edit', { file_path: 'a.txt', old_string: 'a\r\nb', new_string: 'a\nb' })
    expect(result).toMatchObject({ isError: true, metadata: { code: 'no-change' } })
  })

  test('never normalises a decomposed file', async () => {
    await world.write('nfd.txt', 'cafe\u0301 = 1\nrest e\u0301\n')
    expect((await edit('nfd.txt', 'caf\u00e9 = 1', 'caf\u00e9 = 2')).isError).toBe(true)
    expect(await world.text('nfd.txt')).toBe('cafe\u0301 = 1\nrest e\u0301\n')
  })

  test('keeps the mode, and writes through a link to the file behind it', async () => {
    await world.write('run.sh', 'echo a\n')
    await world.run('chmod 750 run.sh; ln -s run.sh link.sh')
    await edit('link.sh', 'a', 'b')
    expect(await world.text('run.sh')).toBe('echo b\n')
    expect((await world.run('stat -c %a run.sh; readlink link.sh; ls -A')).split('\n')).toEqual([
      '750',
      'run.sh',
      'link.sh',
      'run.sh',
      '',
    ])
  })

  test('refuses a read-only file', async () => {
    await world.write('fixed.txt', 'a\n')
    await world.run('chmod 444 fixed.txt')
    expect((await edit('fixed.txt', 'a', 'b')).output).toContain('read-only')
    expect(await world.text('fixed.txt')).toBe('a\n')
  })

  test('refuses to change what changed since this session read it', async () => {
    await world.write('a.txt', 'one\ntwo\n')
    await world.result('read', { file_path: 'a.txt' })
    await world.write('a.txt', 'one\ntwo\nthree\n')
    const result = await edit('a.txt', 'one', '1')
    expect(result).toMatchObject({ isError: true, metadata: { code: 'stale' } })
    expect(result.output).toContain('Read it again')
    expect(await world.text('a.txt')).toBe('one\ntwo\nthree\n')
    await world.result('read', { file_path: 'a.txt' })
    expect((await edit('a.txt', 'one', '1')).isError).toBe(false)
    expect((await edit('a.txt', 'two', '2')).isError).toBe(false)
  })

  test('two edits of one file at the same time both arrive', async () => {
    const lines = Array.from({ length: 100 }, (_, i) => `${i + 1}\n`).join('')
    for (let round = 0; round < 50; round++) {
      await world.write('seq.txt', lines)
      const results = await Promise.all([
        world.result('edit', { file_path: 'seq.txt', old_string: '\n50\n', new_string: '\nFIFTY\n' }, { files: {} }),
        world.result('edit', { file_path: 'seq.txt', old_string: '\n75\n', new_string: '\nSEVENTY\n' }, { files: {} }),
      ])
      expect(results.map(({ isError }) => isError)).toEqual([false, false])
      expect(await world.text('seq.txt')).toBe(lines.replace('\n50\n', '\nFIFTY\n').replace('\n75\n', '\nSEVENTY\n'))
    }
  })

  test('reports a unified diff with its counts and the new hash', async () => {
    await world.write('a.txt', 'one\ntwo\nthree\n')
    const result = await edit('a.txt', 'two', '2\n2b')
    expect(result.metadata).toMatchObject({ added: 2, removed: 1 })
    expect(result.metadata?.diff).toBe('--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n')
    expect(result.touched).toMatchObject([{ path: `${world.dir}/a.txt`, kind: 'write', hash: expect.any(String) }])
  })
})

describe('an edit that needs approval', () => {
  const asks = () => ({ action: 'ask' as const, reason: 'test' })

  test('shows its diff, and is made when approved', async () => {
    await world.write('a.txt', 'one\n')
    const args = { file_path: 'a.txt', old_string: 'one', new_string: 'two' }
    const outcome = await world.call('edit', args, { decide: asks })
    if (outcome.type !== 'ask') throw new Error('no ask')
    expect(outcome.ask).toMatchObject({ kind: 'edit', key: 'edit', pattern: 'a.txt', title: 'edit a.txt (+1 -1)' })
    expect(outcome.ask.detail).toContain('-one\n+two')
    expect(world.started).toEqual([])

    const answered = { id: 'x' as never, ...outcome.ask, answer: { decision: 'once' as const } }
    expect((await world.result('edit', args, { decide: asks, answered })).isError).toBe(false)
    expect(await world.text('a.txt')).toBe('two\n')
    expect(world.started).toHaveLength(1)
  })

  test('is refused when the file changed after the approval', async () => {
    await world.write('a.txt', 'one\n')
    const args = { file_path: 'a.txt', old_string: 'one', new_string: 'two' }
    const outcome = await world.call('edit', args, { decide: asks })
    if (outcome.type !== 'ask') throw new Error('no ask')
    await world.write('a.txt', 'one\nand more\n')
    const answered = { id: 'x' as never, ...outcome.ask, answer: { decision: 'once' as const } }
    const result = await world.result('edit', args, { decide: asks, answered })
    expect(result).toMatchObject({ isError: true, metadata: { code: 'changed-since-approval' } })
    expect(await world.text('a.txt')).toBe('one\nand more\n')
  })

  test('asks nobody when it cannot work', async () => {
    await world.write('a.txt', 'one\n')
    const args = { file_path: 'a.txt', old_string: 'absent', new_string: 'two' }
    expect((await world.result('edit', args, { decide: asks })).output).toContain('not found')
  })
})

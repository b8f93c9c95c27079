import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createToolWorld, removeToolWorlds, type ToolWorld } from './testing/tool-world.ts'

let world: ToolWorld
beforeEach(async () => {
  world = await createToolWorld()
})
afterAll(removeToolWorlds)

afterEach(() => vi.unstubAllEnvs())

/** Both engines must give the same answers. */
const engines = [
  ['ripgrep', ''],
  ['javascript', 'off'],
] as const

const glob = async (pattern: string, path?: string) =>
  (await world.result('glob', { pattern, ...(path && { path }) })).output.split('\n')
const grep = (pattern: string, more: Record<string, unknown> = {}) => world.result('grep', { pattern, ...more })
const lines = async (pattern: string, more?: Record<string, unknown>) => (await grep(pattern, more)).output.split('\n')

test('a search keeps to its folder under the other names of path, and to all of them under none', async () => {
  await world.write('src/a.ts', 'needle\n')
  await world.write('b.ts', 'needle\n')
  for (const name of ['path', 'directory', 'dir', 'folder', 'filePath']) {
    expect((await grep('needle', { [name]: 'src' })).output).toBe('src/a.ts:1: needle')
  }
  expect((await grep('needle', { path: '', include: '' })).output.split('\n').sort()).toEqual([
    'b.ts:1: needle',
    'src/a.ts:1: needle',
  ])
})

describe.each(engines)('glob by %s', (_, setting) => {
  beforeEach(() => void vi.stubEnv('TROUPE_RIPGREP', setting))

  test('finds hidden files and skips .git and what git ignores, nested rules included', async () => {
    await world.run('mkdir .git')
    await world.write('.git/config.ts', '')
    await world.write('.gitignore', 'dist/\n*.log\n!keep.log\nBuild\n')
    await world.write('.hidden/a.ts', '')
    await world.write('dist/a.ts', '')
    await world.write('build/a.ts', '')
    await world.write('x.log', '')
    await world.write('keep.log', '')
    await world.write('sub/.gitignore', '/only-here.ts\n!x.log\n')
    await world.write('sub/only-here.ts', '')
    await world.write('sub/deep/only-here.ts', '')
    await world.write('sub/x.log', '')
    expect((await glob('**/*.{ts,log}')).sort()).toEqual(
      ['.hidden/a.ts', 'build/a.ts', 'keep.log', 'sub/deep/only-here.ts', 'sub/x.log'].sort(),
    )
    expect(await glob('*.ts', 'dist')).toEqual(['dist/a.ts'])
    expect(await glob('*.log', 'sub')).toEqual(['sub/x.log'])
  })

  test('obeys the rules of the repository above the folder searched', async () => {
    await world.run('mkdir .git .git/info; echo secret.ts > .git/info/exclude')
    await world.write('.gitignore', '/pkg/out/\n')
    await world.write('pkg/out/a.ts', '')
    await world.write('pkg/in/a.ts', '')
    await world.write('pkg/in/secret.ts', '')
    expect(await glob('**/*.ts', 'pkg')).toEqual(['pkg/in/a.ts'])
  })

  test('gives the newest first, at most 100, and says so', async () => {
    await world.run('for i in $(seq 1 120); do touch -d "2020-01-01 + $i minutes" f$i.txt; done')
    const found = await glob('*.txt')
    expect(found.slice(0, 2)).toEqual(['f120.txt', 'f119.txt'])
    expect(found).toHaveLength(101)
    expect(found[100]).toBe('[showing the newest 100 of 120 files; use a narrower pattern or path]')
  })

  test('ends in link loops and gives each real file once', async () => {
    await world.write('sub/real.txt', 'needle\n')
    await world.run('ln -s .. sub/loop; ln -s . sub/self; ln -s nowhere broken; ln -s nowhere sub/broken.txt')
    expect(await glob('**/*.txt')).toEqual(['sub/real.txt'])
    expect(await lines('needle')).toEqual(['sub/real.txt:1: needle'])
  })

  test('says when nothing matches, and when a pattern leads elsewhere', async () => {
    await world.write('a.ts', '')
    expect(await glob('*.py')).toEqual(['No files match *.py.'])
    expect((await glob('../**'))[0]).toContain('Set path')
    expect((await glob('{a,../x}'))[0]).toContain('Set path')
    expect((await glob('/etc/*'))[0]).toContain('Set path')
    expect(await glob(`${world.dir}/*.ts`)).toEqual(['a.ts'])
    expect(await glob('./*.ts')).toEqual(['a.ts'])
    expect((await glob('*.ts', 'none'))[0]).toBe('none does not exist.')
  })

  test('outside of the workspace asks for that folder', async () => {
    await world.run('mkdir ../other; touch ../other/a.txt')
    const other = world.workspace.resolve('../other').path
    expect(await glob('*.txt', '../other')).toEqual([`${other}/a.txt`])
    expect(world.asked).toEqual([{ key: 'read', pattern: other, outside: other }])
  })
})

describe.each(engines)('grep by %s', (engine, setting) => {
  beforeEach(() => void vi.stubEnv('TROUPE_RIPGREP', setting))

  test('gives path, line and text, the newest file first', async () => {
    await world.write('old.txt', 'x\nneedle 1\n')
    await world.write('new.txt', 'needle 2\r\n')
    await world.run('touch -d 2020-01-01 old.txt')
    expect(await lines('needle \\d')).toEqual(['new.txt:1: needle 2', 'old.txt:2: needle 1'])
    expect(await lines('2$')).toEqual(['new.txt:1: needle 2'])
    expect(await lines('(?i)NEEDLE 1')).toEqual(['old.txt:2: needle 1'])
    expect(await lines('needle(?!\\s)')).toEqual(['No matches for needle(?!\\s) in 2 files.'])
    expect(await lines('1(?!\\s)')).toEqual(['old.txt:2: needle 1'])
    expect(await lines('x\\s+needle')).toEqual(['No matches for x\\s+needle in 2 files.'])
    expect(await lines('needle', { path: 'old.txt' })).toEqual(['old.txt:2: needle 1'])
    expect(await lines('needle', { include: 'n*.txt' })).toEqual(['new.txt:1: needle 2'])
  })

  test('takes an invalid expression for an error and an absent text for none', async () => {
    await world.write('a.txt', 'x\n')
    expect(await grep('(')).toMatchObject({
      isError: true,
      output: expect.stringContaining('Invalid regular expression'),
    })
    expect(await grep('zzz')).toMatchObject({ isError: false, output: 'No matches for zzz in 1 file.' })
  })

  test('takes no pattern and no file name for a flag, and no name for two', async () => {
    await world.write('opts.txt', '--ctx-size 4\n-> x\n')
    expect(await lines('--ctx')).toEqual(['opts.txt:1: --ctx-size 4'])
    expect(await lines('->')).toEqual(['opts.txt:2: -> x'])
    expect((await grep('-v')).output).toContain('No matches')
    const names = ['-n.txt', 'a:12:b.txt', 'new\nline.txt', 'sp ace.txt']
    for (const name of names) await world.write(`odd/${name}`, 'needle\n')
    expect((await lines('needle')).sort()).toEqual(
      [
        '"odd/new\\nline.txt":1: needle',
        'odd/-n.txt:1: needle',
        'odd/a:12:b.txt:1: needle',
        'odd/sp ace.txt:1: needle',
      ].sort(),
    )
  })

  test('cuts a long line around the match', async () => {
    await world.write('min.js', `${'var a=1;'.repeat(2000)}NEEDLE_HERE${'var b=2;'.repeat(2000)}`)
    const { output } = await grep('NEEDLE_HERE')
    expect(output.length).toBeLessThan(400)
    expect(output).toMatch(/^min\.js:1: \.\.\..*NEEDLE_HERE.*\.\.\.$/)
    await world.write('emoji.txt', `${'😀'.repeat(400)}x${'😀'.repeat(400)}`)
    const cut = (await grep('x', { path: 'emoji.txt' })).output
    expect(Buffer.from(cut).toString()).toBe(cut)
  })

  test('skips binary files and finds text that is not UTF-8', async () => {
    await world.write('bin', Buffer.from('needle\0\x01'))
    await world.write('latin.txt', Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x20, ...Buffer.from('needle\n')]))
    await world.write('wide.txt', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('needle\n', 'utf16le')]))
    expect((await lines('needle')).sort()).toEqual(['latin.txt:1: caf\uFFFD needle', 'wide.txt:1: needle'])
  })

  test('shows at most 100 matches and says so; a small model gets 200', async () => {
    await world.write('many.txt', 'hit\n'.repeat(300))
    const found = await lines('hit')
    expect(found).toHaveLength(101)
    expect(found[100]).toBe('[showing the first 100 matches; use a narrower pattern, path or include]')
    const compact = await world.result('grep', { pattern: 'hit' }, { toolset: 'compact' })
    expect(compact.output.split('\n')).toHaveLength(201)
    await world.write('many.txt', 'hit\n'.repeat(100))
    expect(await lines('hit')).toHaveLength(100)
  })

  test('does not show what may not be read', async () => {
    await world.write('.env', 'KEY=needle\n')
    await world.write('a.txt', 'needle\n')
    const rule = (action: 'deny' | 'ask') => (request: { pattern: string }) => ({
      action: request.pattern === '.env' ? action : ('allow' as const),
      reason: '',
    })
    for (const action of ['deny', 'ask'] as const) {
      const { output } = await world.result('grep', { pattern: 'needle' }, { decide: rule(action) })
      expect(output).toBe('a.txt:1: needle\n[matches in 1 file not shown: reading there needs a permission]')
    }
  })

  test.skipIf(engine === 'ripgrep')('stops an expression that backtracks without end', async () => {
    await world.write('a.txt', `${'a'.repeat(60)}!\n`)
    const result = await grep('^(a+)+$')
    expect(result).toMatchObject({ isError: true, metadata: { code: 'pattern-too-slow' } })
  })

  test('gives way to others and stops when cancelled', async () => {
    await world.run('mkdir many; cd many; for i in $(seq 1 3000); do echo text > f$i.txt; done')
    const cancel = new AbortController()
    const search = world.result('grep', { pattern: 'absent' }, { signal: cancel.signal })
    setImmediate(() => cancel.abort())
    expect(await search).toMatchObject({ how: 'cancelled', output: 'The call was interrupted while it ran.' })
  })

  test('takes a line break in a pattern for the mistake that it is', async () => {
    await world.write('a.txt', 'a\nb\n')
    for (const pattern of ['a\nb', 'a\\nb']) expect((await grep(pattern)).output).toContain('line by line')
    expect(await lines('a\\\\n')).toEqual(['No matches for a\\\\n in 1 file.'])
  })

  test('searches one file by its name, ignored or not', async () => {
    await world.write('.gitignore', '*.log\n')
    await world.write('x.log', 'needle\n')
    await world.write('bin.dat', Buffer.from('needle\0'))
    expect(await lines('needle', { path: 'x.log' })).toEqual(['x.log:1: needle'])
    expect(await lines('needle')).toEqual(['No matches for needle in 2 files.'])
    expect(await lines('needle', { path: 'bin.dat' })).toEqual(['No matches for needle in 1 file.'])
  })

  test('takes include for a name at any depth or for a path, never past what git ignores', async () => {
    await world.write('.gitignore', 'gen/\n')
    for (const path of ['a.ts', 'src/b.ts', 'src/deep/c.tsx', 'src/d.js', 'gen/e.ts'])
      await world.write(path, 'needle\n')
    const found = async (include: string) => (await lines('needle', { include })).map((row) => row.split(':')[0]).sort()
    expect(await found('*.ts')).toEqual(['a.ts', 'src/b.ts'])
    expect(await found('*.{ts,tsx}')).toEqual(['a.ts', 'src/b.ts', 'src/deep/c.tsx'])
    expect(await found('src/*.ts')).toEqual(['src/b.ts'])
    expect(await found('src/**/*.{js,tsx}')).toEqual(['src/d.js', 'src/deep/c.tsx'])
    expect(await found('{src,gen}/*')).toEqual(['src/b.ts', 'src/d.js'])
    expect(await lines('needle', { include: '*.py' })).toEqual(['No files match *.py.'])
    expect(await lines('absent', { include: 'src/*.ts' })).toEqual(['No matches for absent in 1 file.'])
  })

  test('leaves a repository within another its own rules', async () => {
    await world.run('mkdir .git; mkdir -p inner/.git')
    await world.write('.gitignore', '*.log\n')
    await world.write('inner/.gitignore', '*.tmp\n')
    for (const path of ['a.log', 'inner/b.log', 'inner/c.tmp', 'inner/d.txt']) await world.write(path, 'needle\n')
    expect((await lines('needle')).sort()).toEqual(['inner/b.log:1: needle', 'inner/d.txt:1: needle'])
  })

  test('shows lines to a small model without the blanks around them', async () => {
    await world.write('a.txt', '    needle  \n')
    expect((await world.result('grep', { pattern: 'needle' }, { toolset: 'compact' })).output).toBe('a.txt:1: needle')
  })

  test('of the newest files gives each line once, in order', async () => {
    for (let n = 0; n < 30; n++) await world.write(`f${n}.txt`, 'hit\nmiss\nhit\nhit\nhit\n')
    await world.run('for i in $(seq 0 29); do touch -d "2020-01-01 + $i minutes" f$i.txt; done')
    const rows = (await lines('hit')).slice(0, 100)
    expect(rows).toEqual(Array.from({ length: 100 }, (_, i) => `f${29 - (i >> 2)}.txt:${[1, 3, 4, 5][i & 3]}: hit`))
  })
})

test('a search goes on without a ripgrep that does not run here', async () => {
  await world.write('a.txt', 'needle\n')
  await world.write('no-program', 'neither ELF nor script')
  for (const program of [`${world.dir}/no-program`, `${world.dir}/absent`]) {
    vi.stubEnv('TROUPE_RIPGREP', program)
    expect(await lines('needle', { include: '*.txt' })).toEqual(['a.txt:1: needle'])
    expect(await glob('*.txt')).toEqual(['a.txt'])
  }
})

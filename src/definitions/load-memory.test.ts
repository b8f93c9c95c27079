import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createMemoryLoader } from './load-memory.ts'

let top: string
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-memory-')))
  onTestFinished(() => rmSync(top, { recursive: true, force: true }))
  mkdirSync(join(top, 'repo/.git'), { recursive: true })
  mkdirSync(join(top, 'repo/packages/p'), { recursive: true })
})

function write(path: string, text: string): void {
  mkdirSync(dirname(join(top, path)), { recursive: true })
  writeFileSync(join(top, path), text)
}

const load = (dir = 'repo') => createMemoryLoader()(join(top, dir))

describe('the memory of a project', () => {
  test('has its instructions from the worktree down, then what agents remembered', () => {
    write('AGENTS.md', 'outside')
    write('repo/AGENTS.md', '\uFEFFuse tabs\n')
    write('repo/CLAUDE.md', 'run make')
    write('repo/packages/p/AGENTS.md', 'p only')
    write('repo/.troupe/memory.md', 'tests need Node 22\n')
    expect(load('repo/packages/p')).toEqual({
      file: join(top, 'repo/.troupe/memory.md'),
      parts: [
        { origin: '../../AGENTS.md', text: 'use tabs' },
        { origin: '../../CLAUDE.md', text: 'run make' },
        { origin: 'AGENTS.md', text: 'p only' },
        { origin: '../../.troupe/memory.md', text: 'tests need Node 22' },
      ],
    })
  })

  test('is empty where there is nothing, and would be written in the folder itself', () => {
    expect(load()).toEqual({ file: join(top, 'repo/.troupe/memory.md'), parts: [] })
    expect(load('absent')).toEqual({ file: join(top, 'absent/.troupe/memory.md'), parts: [] })
  })

  test('counts the same text once', () => {
    write('repo/AGENTS.md', 'use tabs')
    symlinkSync('AGENTS.md', join(top, 'repo/CLAUDE.md'))
    expect(load().parts).toEqual([{ origin: 'AGENTS.md', text: 'use tabs' }])
  })

  test('takes nothing from outside through a link, and opens no folder for a file', () => {
    write('secret', 'key')
    symlinkSync('../secret', join(top, 'repo/AGENTS.md'))
    mkdirSync(join(top, 'repo/CLAUDE.md'))
    expect(load().parts).toEqual([])
  })

  test('follows changes of the files', () => {
    const again = createMemoryLoader()
    write('repo/AGENTS.md', 'one')
    expect(again(join(top, 'repo')).parts[0]?.text).toBe('one')
    write('repo/AGENTS.md', 'other')
    expect(again(join(top, 'repo')).parts[0]?.text).toBe('other')
  })

  test('holds only the beginning of a huge file, and no half of a character', () => {
    write('repo/AGENTS.md', `x${'é'.repeat(100_000)}`)
    const text = load().parts[0]!.text
    expect(text.length).toBeLessThan(70_000)
    expect(text).toMatch(/^xé+$/)
  })
})

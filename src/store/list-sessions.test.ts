import { mkdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../core/clock.ts'
import type { SessionId } from '../core/ids.ts'
import { created, root, rootRef, said } from './fixtures/sample-records.ts'
import { newFolder, openStore, writtenFolder } from './fixtures/test-store.ts'

describe('listing', () => {
  test('root sessions come newest first with what people look for', () => {
    let now = 1000
    const store = openStore(newFolder(), { clock: { ...systemClock, now: () => now } })
    for (const id of ['old', 'new'] as SessionId[]) {
      const ref = { root: id, session: id }
      const lock = store.lockRoot(id)
      store.append(ref, [created(ref), said(`  Count\n the ${'very '.repeat(40)}files`)])
      store.append({ root: id, session: `${id}-exp-1` as SessionId }, [created(ref), said('a child is not listed')])
      now += 500
      store.append(ref, [said('more')])
      if (id === 'old') lock.release()
      now += 1000
    }
    const listed = store.list()
    expect(listed.map(({ session, createdAt, updatedAt }) => [session, createdAt, updatedAt])).toEqual([
      ['new', 2500, 3000],
      ['old', 1000, 1500],
    ])
    expect(listed[1]).toMatchObject({ agent: 'lead', dir: '/work/space', model: 'scripted:play.yaml' })
    expect(listed[1]!.prompt).toMatch(/^Count the very very .*…$/)
    expect(listed[1]!.prompt).toHaveLength(80)
    expect(listed.map(({ lockedBy }) => lockedBy)).toEqual([process.pid, undefined])
  })

  test('strange folders and unreadable journals do not hide the others', async () => {
    const { dataDir, path } = await writtenFolder(['one'])
    mkdirSync(join(dataDir, 'sessions', 'empty'))
    mkdirSync(join(dataDir, 'sessions', 'No Session'))
    mkdirSync(join(dataDir, 'sessions', 'bad'))
    writeFileSync(join(dataDir, 'sessions', 'bad', 'bad.jsonl'), 'no record\n')
    writeFileSync(join(dataDir, 'sessions', 'stray.txt'), '')
    truncateSync(path, statSync(path).size - 4)
    const listed = openStore(dataDir).list()
    expect(listed.map(({ session }) => session).sort()).toEqual(['bad', root])
    expect(listed.find(({ session }) => session === 'bad')!.damaged).toMatch(/cannot be read/)
  })

  test('a session with a very long first record is listed', () => {
    const store = openStore(newFolder())
    store.lockRoot(root)
    const body = created(rootRef)
    if (body.type === 'session.created') body.seed.agent.prompt = 'p'.repeat(200_000)
    store.append(rootRef, [body, said('hello')])
    expect(store.list()).toMatchObject([{ agent: 'lead', prompt: 'hello' }])
  })
})

import { spawn } from 'node:child_process'
import { expect, test } from 'vitest'
import { endProcesses, findCommand, findProcesses, hasProc, type LiveProcess } from './process-tree.ts'

test('what not even KILL ends is given up and named', async () => {
  const stuck: LiveProcess = { pid: 2 ** 30, parent: 1, group: 1, session: 1, marks: [] }
  expect(await endProcesses(() => [stuck], 10, 100)).toEqual([stuck])
})

test.skipIf(!hasProc)('a process that has ended and was not yet taken note of does not count as running', async () => {
  // The shell that started it has become `sleep`, which never waits for its child: a zombie as long as that runs.
  const child = spawn('/bin/sh', ['-c', 'true & exec sleep 300'], { detached: true, stdio: 'ignore' })
  const command = { shell: child.pid!, mark: 'none', sinceMs: performance.now() }
  const started = () => findProcesses(({ parent }) => parent === child.pid)
  do await new Promise((resolve) => setTimeout(resolve, 50))
  while (started().length > 0)
  expect(findCommand(command).map(({ pid }) => pid)).toEqual([child.pid])
  const exited = new Promise((resolve) => child.once('exit', resolve))
  expect(await endProcesses(() => findCommand(command), 1000)).toEqual([])
  await exited
})

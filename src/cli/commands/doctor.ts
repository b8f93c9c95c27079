import type { Finding } from '../doctor.ts'
import { exitCodes } from '../exit-codes.ts'
import { printJson, printLines } from '../io.ts'
import { addWorkspaceOptions, type WorkspaceOptions } from '../options.ts'
import { padTo } from '../terminal/display-width.ts'
import { oneLine } from '../terminal/sanitize.ts'
import type { Style } from '../terminal/style.ts'
import type { AddCommand } from './context.ts'

/** `troupe doctor`: whether everything that a run needs is there. */
export const addDoctor: AddCommand = (program, { io, finish }) => {
  const command = program
    .command('doctor')
    .description('check Node, model server, models, configuration and folders')
    .option('--json', 'print JSON')
  addWorkspaceOptions(command).action(async ({ json, ...options }: WorkspaceOptions & { json?: boolean }) => {
    const { diagnose } = await import('../doctor.ts')
    const findings = await diagnose({ ...options, env: io.env })
    if (json) printJson(io, findings)
    else
      printLines(
        io,
        findings.map((finding) => findingLine(finding, io.style)),
      )
    finish(findings.some(({ ok }) => ok === false) ? exitCodes.failed : exitCodes.done)
  })
}

function findingLine({ what, ok, found, remedy }: Finding, style: Style): string {
  const mark = ok === true ? style.green('ok  ') : ok === 'warn' ? style.yellow('note') : style.red('FAIL')
  return `${mark}  ${style.bold(padTo(what, 13))}  ${oneLine(found)}${remedy === undefined ? '' : ` ${remedy}`}`
}

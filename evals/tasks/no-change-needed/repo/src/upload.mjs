/** Sends one file; gives up after the upload timeout of the settings. */
export async function upload(settings, name, body, send = fetch) {
  const { url, upload_timeout: limit } = settings.archive;
  const signal = AbortSignal.timeout(limit);
  const answer = await send(`${url}/files/${encodeURIComponent(name)}`, { method: 'PUT', body, signal });
  if (!answer.ok) throw new Error(`the archive answered ${answer.status} to ${name}`);
}

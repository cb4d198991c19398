// A video of the scene, recorded by the browser while the run plays.

const KINDS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"];

export const canRecord = () => typeof MediaRecorder === "function" && KINDS.some((kind) => MediaRecorder.isTypeSupported(kind));

// starts to record a canvas; `stop` gives the video
export function record(canvas) {
  const type = KINDS.find((kind) => MediaRecorder.isTypeSupported(kind));
  const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: type, videoBitsPerSecond: 8e6 });
  const parts = [];
  recorder.addEventListener("dataavailable", (event) => parts.push(event.data));
  const done = new Promise((resolve) => {
    recorder.addEventListener("stop", () => resolve(new Blob(parts, { type: type.split(";")[0] })));
  });
  recorder.start();
  return { stop: () => { recorder.stop(); return done; } };
}

export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${name}.${blob.type.split("/")[1]}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

import { rmSync } from "node:fs";
import { join } from "node:path";
import type { ProductRun } from "./product-run.ts";

/** **A new Django project with the printed settings at the end of its own**, and a page that shows who is signed in. */
export async function startDjango(run: ProductRun, urls: string): Promise<void> {
  rmSync(join(run.folder, "site"), { recursive: true, force: true });
  rmSync(join(run.folder, "db.sqlite3"), { force: true });
  await run.execute("mkdir", "site");
  await run.execute("django-admin", "startproject", "site_", "site");
  run.write("site/site_/settings.py", `${run.read("site/site_/settings.py")}\n${run.read("settings.py")}`);
  run.write(
    "site/site_/urls.py",
    `from django.http import JsonResponse
from django.middleware.csrf import get_token
from django.urls import include, path

def home(request):
    user = request.user
    claims = {"name": user.get_full_name(), "username": user.username, "email": user.email} if user.is_authenticated else None
    return JsonResponse({"user": claims, "csrf": get_token(request)})

urlpatterns = [path("", home), ${urls}]
`,
  );
  await run.execute("python", "site/manage.py", "migrate");
  await run.start("python", ["site/manage.py", "runserver", "--noreload", `localhost:${run.port}`]);
}

export interface DjangoPage {
  readonly user: Record<string, unknown> | null;
  readonly csrf: string;
}

